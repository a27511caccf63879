"""``preimage app``: a page in the browser to explore codes, denoise, compare methods, fill gaps and find unusual rows.

The server (:mod:`preimage.app.server`) only checks, stores and forwards requests. Worker processes
(:mod:`preimage.app.worker`), which can be cancelled and have bounded memory, read the users' files and compute.
"""
