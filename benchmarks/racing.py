"""Side by side: functions that take turns, the best time of each, and ratios as tables. Other scripts import this."""

import time

import numpy as np
from threadpoolctl import threadpool_limits


def race(tasks, least=0.5, repeats=3, n_threads=1):
    """Best seconds of functions without arguments, taken in turns: ``repeats`` times, and for ``least`` seconds each.

    With one thread they are CPU seconds, which other processes hardly disturb; with more they are seconds by the clock.
    """
    clock = time.process_time if n_threads == 1 else time.perf_counter
    best, spent, rounds = dict.fromkeys(tasks, np.inf), 0.0, 0
    with threadpool_limits(n_threads):
        while rounds < repeats or (spent < least * len(tasks) and rounds < 200):
            for name, task in tasks.items():
                start = clock()
                task()
                seconds = clock() - start
                best[name], spent = min(best[name], seconds), spent + seconds
            rounds += 1
    return best


def markdown(rows, header):
    """A table of Markdown; numbers have two or three digits."""
    lines = [header, ["---"] * len(header), *([*map(cell, row)] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(value):
    """A number with two digits, or three from 1 on; other values as they are."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.3g}"
