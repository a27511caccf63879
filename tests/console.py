"""What tests of the command line share."""

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from helpers import rows
from preimage import io
from preimage.cli import main
from preimage.io import Form

PREIMAGE = Path(sys.executable).with_name("preimage")
ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
NAMES = ("a", "b", "c", "d")
X = rows(40, 4)


def run(*arguments, **options):
    """The command as a user types it."""
    command = [PREIMAGE, *map(str, arguments)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, **options)


def call(*arguments, **options):
    """The same within this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def good(*arguments, **options):
    done = call(*arguments, **options)
    assert done.exit_code == 0, done.output
    return done


def put(path, values=X, columns=NAMES, **settings):
    with io.writing(path, Form(columns=columns, **settings), overwrite=True) as write:
        write([values])
    return path


def rows_of(path):
    return io.read(path).whole()
