"""``python -m preimage``: the command line."""

from preimage.cli import main

if __name__ == "__main__":
    main(prog_name="preimage")
