"""The calls of `fit` and `denoise`, room by room: which function of which room each room calls.

    python benchmarks/trace.py [--approximation 200] [--preimage auto]

One line per call that crosses into another room, indented below its caller; repeated calls are counted. The last lines
name every room that a call comes back to on its way down (a → b → a). Functions handed over as arguments belong to the
room that defines them, and `SERVICES` and `RUNNERS` (threads, progress, caches) are not part of the computation.
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import preimage
from preimage import KernelPCA
from preimage.datasets import load_digits
from preimage.kernels import Gaussian
from preimage.noise import GaussianNoise

SOURCE = str(Path(preimage.__file__).parent) + "/"
SERVICES = {"exceptions", "progress", "caching", "tensors", "gram/threads", "gram/memory"}  # rooms and modules
RUNNERS = {"map_rows"}  # functions that run a function of their caller


@dataclass
class Call:
    """A call into a room, and the calls into other rooms that it makes."""

    room: str
    function: str
    count: int = 0
    calls: dict = field(default_factory=dict)

    def lines(self, depth=0):
        """This call and those below it, one line each."""
        times = f"  × {self.count}" if self.count > 1 else ""
        if depth:
            yield f"{'  ' * (depth - 1)}{self.room}: {self.function}{times}"
        for call in self.calls.values():
            yield from call.lines(depth + 1)


class Tracer:
    """Follows the calls of one thread."""

    def __init__(self):
        self.root = Call("", "")
        self.stack = [self.root]
        self.returns = Counter()

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def __call__(self, frame, event, _):
        if event == "call":
            self.stack.append(self.entered(frame.f_code))
        elif event == "return" and len(self.stack) > 1:
            self.stack.pop()

    def entered(self, code):
        """The call on top of the stack: a new one where a function crosses into another room."""
        top, room = self.stack[-1], room_of(code)
        if room in (None, top.room) or code.co_name in RUNNERS or "<" in code.co_qualname:  # <locals>, <lambda>
            return top
        call = top.calls.setdefault((room, code.co_qualname), Call(room, code.co_qualname))
        call.count += 1
        path = [step.room for step in self.stack if step.room]
        if room in path:
            self.returns[" → ".join([*collapsed(path[path.index(room) :]), room]) + f" ({code.co_qualname})"] += 1
        return call


def room_of(code):
    """The room of a function, or None for other packages, services and class bodies."""
    if not code.co_filename.startswith(SOURCE):
        return None
    module = code.co_filename.removeprefix(SOURCE).removesuffix(".py")
    return None if module in SERVICES or module.split("/")[0] in SERVICES else module.split("/")[0]


def collapsed(rooms):
    """Without repetitions of neighbours."""
    return [room for number, room in enumerate(rooms) if not number or room != rooms[number - 1]]


def traced(action):
    """The tracer of an action."""
    with Tracer() as tracer:
        action()
    return tracer


def prepared(approximation=None, preimage="fixed_point"):
    """`fit` and `denoise` as actions, after a first run, since imports on first use are no part of the path."""
    digits = load_digits().X
    noisy = GaussianNoise(0.3)(digits[500:600], np.random.default_rng(0))
    settings = {"approximation": approximation, "preimage": preimage, "random_state": 0, "n_jobs": 1}
    model = KernelPCA(16, kernel=Gaussian(2.5), **settings)
    model.fit(digits[:500]).denoise(noisy[:10])
    return {"fit": lambda: model.fit(digits[:500]), "denoise": lambda: model.denoise(noisy)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--approximation", type=int, help="number of landmarks; exact if not given")
    parser.add_argument("--preimage", default="fixed_point", help="the pre-image method")
    for name, action in prepared(**vars(parser.parse_args())).items():
        tracer = traced(action)
        print(f"# {name}\n")
        print("\n".join(tracer.root.lines()))
        print("\nvisited twice on the way:" if tracer.returns else "\nno room is visited twice on the way")
        for path, count in tracer.returns.most_common():
            print(f"  {path}  × {count}")
        print()


if __name__ == "__main__":
    main()
