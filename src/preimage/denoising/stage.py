"""Stages: ridge regressions on kernel features, from the view of a place to the truth there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage import progress
from preimage.denoising.examples import Examples
from preimage.denoising.readout import BLOCK, RIDGES, gather
from preimage.denoising.stage_features import Features
from preimage.denoising.views import Coded, Images, View, Whole
from preimage.gram import slicing, threads
from preimage.kernels import Radial

SAMPLE = 40_000  # places from which coordinates and landmarks are computed
CACHED = 256  # places whose kernel values stay in a core's cache


@dataclass(frozen=True, eq=False)
class Stage:
    """A fitted stage, from maps of images to images."""

    view: View
    features: Features
    weights: np.ndarray

    def __call__(self, maps: list[Images]) -> Images:
        return self.view.assemble(self.predictions(maps, self.weights), maps[0].shape)

    def predictions(self, maps: list[Images], weights: np.ndarray) -> np.ndarray:
        """The predictions at every place; columns of ``weights`` may belong to several ridges."""
        n, read = self.view.places(maps[0].shape), self.view.reader(maps)
        found = np.empty((n, weights.shape[1]), dtype=maps[0].dtype)

        def fill(task: slice) -> None:
            for block in slicing.slices(task.stop - task.start, CACHED):
                places = np.arange(task.start + block.start, task.start + block.stop)
                found[places[0] : places[-1] + 1] = self.features.times(read(places), weights)

        threads.parallel_map(fill, slicing.slices(n, BLOCK))
        return found


@dataclass(frozen=True, eq=False)
class Crossed:
    """Stages each fitted without one fold of the images; on new images, their mean.

    A stage overfits the images it was fitted on, and a later stage would trust its estimates of them too much.
    """

    stages: tuple[Stage, ...]

    def __call__(self, maps: list[Images]) -> Images:
        return sum((stage(maps) for stage in self.stages[1:]), self.stages[0](maps)) / len(self.stages)

    def left_out(self, maps: list[Images], fold: np.ndarray) -> Images:
        """The estimate of each image by the stage fitted without its fold."""
        found = np.empty_like(maps[0])
        for number, stage in enumerate(self.stages):
            chosen = np.flatnonzero(fold == number)
            found[chosen] = stage([images[chosen] for images in maps])
        return found


@dataclass(frozen=True, eq=False)
class Recipe:
    """Settings for fitting a stage.

    Parameters
    ----------
    kernel : Radial
        Its length scale, if None, follows from the data.
    n_landmarks, n_places : int
        The most landmarks of the kernel, and the most places used for the fit; few places have fewer landmarks.
    """

    kernel: Radial
    n_landmarks: int
    n_places: int

    def validated(self, view, maps, examples, validation_maps, validation: Examples, rng) -> tuple[Stage, float]:
        """The stage with the ridge of least risk on the validation images, and that risk."""
        paths, stage = self._path(view, maps, examples, rng)
        risks = _risks(stage, paths, validation_maps, validation)
        best = int(np.argmin(risks))
        return Stage(stage.view, stage.features, paths[best]), float(risks[best])

    def crossed(self, view, maps, examples: Examples, fold: np.ndarray, rng) -> Crossed:
        """One stage per fold, fitted on the other folds, with the ridge of least risk on the folds left out."""
        seeds = rng.integers(2**63, size=int(fold.max()) + 1)
        part = progress.parts_of("folds", len(seeds))

        def without(number: int) -> tuple[Stage, np.ndarray, np.ndarray]:
            with part(number):
                return self._without(view, maps, examples, fold == number, np.random.default_rng(seeds[number]))

        spread = threads.parallel_map if isinstance(view, Whole) else map  # windows already use all cores
        found = list(spread(without, range(len(seeds))))
        best = int(np.argmin(np.sum([risks for _, _, risks in found], axis=0)))
        return Crossed(tuple(Stage(stage.view, stage.features, paths[best]) for stage, paths, _ in found))

    def _without(self, view, maps, examples: Examples, own: np.ndarray, rng) -> tuple[Stage, np.ndarray, np.ndarray]:
        """A stage fitted on all images but ``own``, the weights for all ridges, and the risk of each on ``own``."""
        others, own = np.flatnonzero(~own), np.flatnonzero(own)
        paths, stage = self._path(view, _part(maps, others, examples), examples.part(others), rng)
        return stage, paths, len(own) * _risks(stage, paths, _part(maps, own, examples), examples.part(own))

    def _path(self, view: View, maps, examples: Examples, rng) -> tuple[np.ndarray, Stage]:
        """The weights for all ridges, and the stage with those of the first."""
        if isinstance(view, Whole):
            view = Coded.fit(view, examples.points(maps), self.kernel, rng)
        places, read = rng.permutation(examples.places(view))[: self.n_places], view.reader(maps)
        features = self._features(read(places[:SAMPLE]), rng)
        moments = gather(features, view, read, examples, places)
        paths = moments.weights(RIDGES, features.n_kernel).astype(maps[0].dtype)
        return paths, Stage(view, features, paths[0])

    def _features(self, rows: np.ndarray, rng) -> Features:
        m = max(1, min(self.n_landmarks, len(rows) // 3))
        busy = rows.std(axis=1) + 1e-12  # more landmarks where there is structure
        chance = busy + 0.25 * busy.mean()
        return Features.choose(self.kernel, rows, rng.choice(len(rows), m, replace=False, p=chance / chance.sum()))


def _risks(stage: Stage, paths: np.ndarray, maps, validation: Examples) -> np.ndarray:
    """The mean risk of every ridge."""
    n_ridges, _, n_targets = paths.shape
    side_by_side = np.ascontiguousarray(paths.transpose(1, 0, 2).reshape(paths.shape[1], -1))
    predictions = stage.predictions(maps, side_by_side).reshape(-1, n_ridges, n_targets)
    shape = maps[0].shape
    return np.array(
        [validation.risk(stage.view.assemble(np.ascontiguousarray(predictions[:, i]), shape)) for i in range(n_ridges)]
    )


def _part(maps: list[Images], chosen: np.ndarray, examples: Examples) -> list[Images]:
    """The maps of some examples, moved ones included."""
    copies = len(maps[0]) // examples.n
    numbers = np.concatenate([chosen + copy * examples.n for copy in range(copies)])
    return [images[numbers] for images in maps]
