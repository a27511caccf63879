"""``preimage demo``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"), show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the noise.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def demo(out: Path, seed: int, as_json: bool) -> None:
    """Denoise handwritten digits: linear PCA beside kernel PCA and its ways back."""
    from preimage.demo import run, show

    try:
        rows, picture = run(out, seed)
    except OSError as error:
        raise click.ClickException(f"cannot write to {out}: {error.strerror or error}.") from error
    show(rows, picture, as_json)
