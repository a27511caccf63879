"""``preimage app``: a page in the browser to explore codes, denoise, compare methods, fill gaps and find odd rows.

The server (:mod:`preimage.app.server`) only guards, stores and passes on: everything that reads a file of a user or
computes runs in worker processes (:mod:`preimage.app.worker`), which can be cancelled and have bounded memory.
"""
