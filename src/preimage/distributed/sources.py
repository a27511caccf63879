"""Dask arrays from stores (zarr, HDF5, parquet, folders of .npy or .parquet files), and their blocks in order.

Only sizes are read here; the workers read the rows, so they must see the same paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np

from preimage.distributed import cluster
from preimage.exceptions import DataFileError
from preimage.gram import slicing
from preimage.gram.memory import free_memory
from preimage.io.arrays import chosen_array, open_array
from preimage.io.base import note
from preimage.io.bounds import RATIO, parsed, refuse_claim
from preimage.io.parquet import ParquetTable

CHUNK = 32 * 2**20  # bytes of a chunk, if the store has no chunks
MOST_CHUNKS = 100_000  # in a graph of tasks


def read_slice(path: str, key: str, ends: tuple[int, ...], number: int) -> np.ndarray:
    """Rows of one array in an .npy or HDF5 file or a zarr store, of which consecutive slices are the chunks."""
    part = slice(ends[number - 1] if number else 0, ends[number])
    if Path(path).is_dir():
        import zarr

        return np.asarray(zarr.open_array(path, mode="r")[part])
    if not key:
        return np.array(open_array(Path(path))[part])
    import h5py

    with h5py.File(path, "r") as file:
        return file[key][part]


def read_file(paths: tuple[str, ...], number: int) -> np.ndarray:
    """The rows of one of several .npy files, which are the chunks."""
    return np.array(open_array(Path(paths[number])))


def read_group(places: tuple[tuple[str, int], ...], columns: tuple[int, ...], number: int) -> np.ndarray:
    """The rows of one of the row groups of parquet files, which are the chunks; nulls are missing numbers."""
    path, group = places[number]
    return ParquetTable(Path(path)).group(group, columns)


def open_store(path: Path) -> tuple[Any, tuple[str, ...] | None]:
    """The rows in a store as a Dask array, and the names of their columns if it has any."""
    kinds: dict[str, Any] = {".parquet": lambda path: _parquet([path]), ".h5": _hdf5, ".hdf5": _hdf5}
    kinds[".npy"] = lambda path: (_sliced(path, "", open_array(path)), None)
    reader = _folder if path.is_dir() else kinds.get(path.suffix.lower())
    if reader is None:
        raise DataFileError(
            f"{path} cannot be read in chunks by a cluster: give .npy, .zarr, .h5, .parquet, or a folder of .npy or "
            ".parquet files."
        )
    try:
        found = reader(path)
        _refuse_large_chunks(found[0], path)
        return found
    except DataFileError:
        raise
    except ImportError as error:
        raise DataFileError(f"{path} needs {error.name}: install it with `pip install preimage[stores]`.") from error
    except Exception as error:  # each library raises its own errors for what it cannot read
        raise DataFileError(f"{path} is empty, damaged, or not what its ending says.") from error


def _refuse_large_chunks(array, path: Path) -> None:
    """Refuse chunks too large for the memory; a small store can declare any size."""
    largest = max(array.chunks[0], default=0) * array.shape[1] * array.dtype.itemsize
    if largest > free_memory() / 2:
        raise DataFileError(
            f"{path} has chunks of {largest / 2**30:.1f} GiB, too much for the memory: save it in smaller chunks."
        )


def in_order(lazy) -> Iterator[np.ndarray]:
    """The blocks of a Dask array one after the other, computed a few at a time."""
    blocks = lazy.to_delayed().ravel()
    for some in slicing.slices(len(blocks), 2 * cluster.n_parallel_tasks()):
        yield from cluster.compute(*blocks[some])


def _folder(path: Path):
    if _is_zarr(path):
        return _zarr(path), None
    files = _parts(path, ".npy")
    if not files:
        return _parquet(_parts(path, ".parquet"))
    heads = [open_array(file) for file in files]
    for file, head in zip(files, heads, strict=True):
        if head.ndim != 2 or head.shape[1] != heads[0].shape[1] or head.dtype != heads[0].dtype:
            raise DataFileError(
                f"{file} holds {head.dtype} of shape {head.shape}, but {files[0].name} holds {heads[0].dtype} of shape "
                f"{heads[0].shape}: all files need the same type and columns."
            )
    reader = partial(read_file, tuple(map(str, files)))
    return _array(reader, [len(head) for head in heads], heads[0].shape[1], heads[0].dtype), None


def _zarr(path: Path):
    import zarr

    _refuse_pickle(path)
    found = zarr.open_array(str(path), mode="r")
    refuse_claim(str(path), found.nbytes, _size(path, found.nbytes / RATIO))
    return _sliced(path, "", found, found.chunks[0])


def _size(folder: Path, enough: float) -> int:
    """The bytes of all files in a folder; counting stops at ``enough``."""
    total = 0
    for file in folder.rglob("*"):
        total += file.stat().st_size
        if total >= enough:
            break
    return total


def _hdf5(path: Path):
    import h5py

    with h5py.File(path, "r") as file:
        matrices = [name for name, item in file.items() if getattr(item, "ndim", 0) == 2]
        key = chosen_array(path, matrices)
        _refuse_foreign_rows(path, file, key)
        refuse_claim(str(path), file[key].nbytes, path.stat().st_size)
        return _sliced(path, key, file[key]), None


def _refuse_foreign_rows(path: Path, file: Any, key: str) -> None:
    """Refuse rows that HDF5 would fetch from another file."""
    link = type(file.get(key, getlink=True)).__name__
    if link == "ExternalLink" or file[key].external or file[key].is_virtual:
        raise DataFileError(f"{path} takes its rows from another file: copy them into this one.")


def _refuse_pickle(path: Path) -> None:
    """Refuse a store that is encoded by pickle, which could run code."""
    for name in ("zarr.json", ".zarray"):
        if (path / name).is_file() and "pickle" in _codecs(parsed((path / name).read_bytes())):
            raise DataFileError(f"{path} is encoded by pickle, which can run code: save it with another codec.")


def _codecs(node: Any) -> set[str]:
    """Names of all codecs in the description of a zarr array, in either version of the format."""
    if isinstance(node, list):
        return set().union(*map(_codecs, node))
    if not isinstance(node, dict):
        return set()
    names = {str(node[key]).rpartition(".")[2].lower() for key in ("id", "name") if key in node}
    return names.union(*map(_codecs, node.values()))


def _parquet(paths: list[Path]):
    tables = [ParquetTable(path) for path in paths]
    names, columns = tables[0].names or (), tables[0].numeric
    for table in tables:
        if table.names != names:
            raise DataFileError(f"{table.name} has different columns from {paths[0].name}.")
    if not columns:
        raise DataFileError(f"{paths[0]} has no column of numbers.")
    if others := [repr(name) for place, name in enumerate(names) if place not in columns]:
        note(f"{paths[0]}: left out, because they do not hold numbers: {', '.join(others)}.")
    places = tuple((table.name, group) for table in tables for group in range(len(table.group_sizes)))
    sizes = [size for table in tables for size in table.group_sizes]
    found = tuple(names[place] for place in columns)
    return _array(partial(read_group, places, columns), sizes, len(columns), np.dtype(float)), found


def _sliced(path: Path, key: str, found, length: int | None = None):
    if found.ndim != 2:
        raise DataFileError(f"{path} holds an array of {found.ndim} axes, but rows need two.")
    length = length or max(1, CHUNK // max(found.dtype.itemsize * found.shape[1], 1))
    if (number := -(-found.shape[0] // length)) > MOST_CHUNKS:
        raise DataFileError(f"{path} has {number:,} chunks, too many to be trusted: save it in larger chunks.")
    ends = (*range(length, found.shape[0], length), found.shape[0])
    reader = partial(read_slice, str(path.absolute()), key, ends)
    return _array(reader, np.diff((0, *ends)), found.shape[1], found.dtype)


def _array(reader, sizes, width: int, dtype):
    sizes = tuple(int(size) for size in sizes)
    return da.map_blocks(_read, reader, chunks=(sizes, (width,)), dtype=dtype, meta=np.empty((0, 0), dtype))


def _read(reader, block_id=None) -> np.ndarray:
    try:
        return reader(block_id[0])
    except Exception as error:  # a damaged chunk can make its decoder fail in any way
        raise DataFileError(f"chunk {block_id[0] + 1} of the store is damaged or missing: {error}") from error


def _is_zarr(path: Path) -> bool:
    return (path / "zarr.json").exists() or (path / ".zarray").exists()


def _parts(path: Path, ending: str) -> list[Path]:
    """The files of a folder with this ending, 2.npy before 10.npy."""
    found = [file.absolute() for file in path.iterdir() if file.suffix.lower() == ending]
    return sorted(
        found, key=lambda file: [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", file.name)]
    )
