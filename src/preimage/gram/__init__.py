"""The Gram matrix: kernel values in bulk, in threads and within a memory budget; the matrix as an operator."""
