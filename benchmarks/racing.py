"""Side by side: functions that take turns, the best time of each, and ratios as tables. Other scripts import this."""

import time

import numpy as np
from threadpoolctl import threadpool_limits

TURN = 0.3  # seconds of a turn with several threads


def race(tasks, least=0.5, repeats=3, n_threads=1):
    """Best seconds of functions without arguments, taken in turns: ``repeats`` times, and for ``least`` seconds each.

    With one thread they are CPU seconds, which other processes hardly disturb. With more they are seconds by the clock,
    and turns are longer than the idle threads of the BLAS of the one before wait in a busy loop.
    """
    clock, turn = (time.process_time, 0) if n_threads == 1 else (time.perf_counter, TURN)
    best, spent, rounds = dict.fromkeys(tasks, np.inf), 0.0, 0
    with threadpool_limits(n_threads):
        while rounds < repeats or (spent < least * len(tasks) and rounds < 200):
            for name, task in tasks.items():
                best_of_turn, seconds = timed(task, clock, turn)
                best[name], spent = min(best[name], best_of_turn), spent + seconds
            rounds += 1
    return best


def timed(task, clock, turn):
    """The best and the sum of the seconds of a function, called again until a turn is over."""
    best, spent = np.inf, 0.0
    while not spent or spent < turn:
        start = clock()
        task()
        seconds = clock() - start
        best, spent = min(best, seconds), spent + seconds
    return best, spent


def markdown(rows, header):
    """A table of Markdown; numbers have two or three digits."""
    lines = [header, ["---"] * len(header), *([*map(cell, row)] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(value):
    """A number with two digits, or three from 1 on; other values as they are."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.3g}"
