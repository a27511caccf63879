"""Limits of the app, and the refusal of anything beyond them."""

from __future__ import annotations

MEBIBYTE = 2**20

UPLOAD = 256 * MEBIBYTE  # bytes of one file
UPLOADED = 1024 * MEBIBYTE  # bytes of all files
FILES = 5000  # of all uploads
FILE_NAME = 120  # characters
REQUEST = 4 * MEBIBYTE  # bytes of any other request
REQUESTS = 64  # at the same time

RUNNING = 2  # jobs at the same time
WAITING = 8  # jobs in the queue
KEPT = 40  # finished jobs whose results can be fetched
MODELS = 4  # kept ready to answer
SECONDS = 1800.0  # of one job
ANSWER_SECONDS = 30.0  # of one question to a model
MEMORY = 4096 * MEBIBYTE  # bytes of data in a worker

ROWS = 200_000  # of a dataset that is explored
NUMBERS = 64_000_000  # in a dataset
PIXELS = 16_000_000  # of a picture that is denoised
CODES = 128  # decoded by one request


class Refused(Exception):
    """A refused request: the HTTP status, and a message that says why."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status
