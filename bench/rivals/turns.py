"""Ours and theirs in turns, in one process, on the same cores."""

import time
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Callable

# OpenMP's and OpenBLAS's threads spin after their work, OpenBLAS's for a tenth of a second; what is measured next must not
# pay for that.
SETTLE = 0.2
SHORTEST_TURN = 0.02
LONG_CALL = 2.0  # seconds, after which a call is neither warmed up nor guessed at again


@dataclass
class Timing:
    seconds: float  # of one call: the median over the rounds
    low: float      # and its quartiles
    high: float
    rounds: int


def timing_of(values: list[float]) -> Timing:
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return Timing(median(values), low, high, len(values))


def _turn(call: Callable[[], None], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def take_turns(calls: list[Callable[[], None]], seconds: float, rounds: int, most: float = 15.0) -> list[Timing]:
    """Rounds of one turn each, until both `seconds` and `rounds` are reached or `most` seconds have passed. A turn
    lasts 20 ms at least; before it the threads of the one before settle, and a short call is made once to wake ours."""
    guesses = []
    for call in calls:
        first = _turn(call, 1)
        guesses.append(min(_turn(call, 1) for _ in range(2)) if first < LONG_CALL else first)
    taken: list[list[float]] = [[] for _ in calls]
    spent, start = 0.0, time.perf_counter()
    while time.perf_counter() - start < most or not taken[0]:
        for call, guess, values in zip(calls, guesses, taken):
            times = max(1, round(SHORTEST_TURN / guess))
            time.sleep(SETTLE)
            if guess < SHORTEST_TURN:
                call()
            values.append(_turn(call, times))
            spent += values[-1] * times
        if len(taken[0]) >= rounds and spent >= seconds:
            break
    return [timing_of(values) for values in taken]
