#!/usr/bin/env python3
"""Attention and a GRU of the same size on recall, while the question moves away from the pairs; writes docs/images/recall-distance.tsv.

    tools/recall_distance.py [--program build/release/attend] [--quick]

Two pairs of four letters and ten digits, then `distance` words that say nothing, then the question. One block of attention, and one layer of
GRUs that is as wide as the same number of parameters allows; the same steps over the same batches, at two rates, with three seeds. Then
the GRU once more with four times the steps. The whole takes about half an hour on two cores that do nothing else. docs/training.md has the
table, which this prints; the figure is drawn from the file by a test,
ATTEND_WRITE_GOLDEN=1 build/release/tests/draw/attend_draw_test --gtest_filter='*RecallOverDistance*'.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "images" / "recall-distance.tsv"
DISTANCES = (0, 1, 2, 4, 8, 16, 32, 64, 128)
RATES = (0.003, 0.01)
SEEDS = (1, 2, 3)
STEPS = 1000
# The GRU alone, at the rate that is better for it in the long run.
LONG_DISTANCES, LONG_RATE, LONG_STEPS = (0, 1, 2, 4, 8, 16, 32, 64), 0.003, 4000
PAIRS, KEYS, VALUES, FILLERS = 2, 4, 10, 10
WIDTH = 64  # of attention, as recall has it


def vocabulary(distance: int) -> int:
    return KEYS * (VALUES + 1) + VALUES + 1 + (FILLERS if distance else 0)


def attention_parameters(distance: int) -> int:
    """Words, which are the output layer as well, and places; a block of twelve squares with its biases and norms; the last norm."""
    return WIDTH * (vocabulary(distance) + PAIRS + distance + 1 + 12 * WIDTH + 15)


def gru_width(distance: int) -> int:
    """Words; two matrices and two biases of three gates: as near to the number above as a whole width comes."""
    return min(range(1, 512), key=lambda e: abs(e * (vocabulary(distance) + 6 * e + 6) - attention_parameters(distance)))


def train(program: pathlib.Path, steps: int, settings: dict) -> tuple[int, float]:
    """The number of parameters, and the share of right answers at the end."""
    settings = {"data.pairs": PAIRS, "data.keys": KEYS, "data.values": VALUES, "training.steps": steps, "training.evaluate": steps,
                "training.save": steps, **settings}
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "recall", "-o", f"{folder}/model", *(f"--set={key}={value}" for key, value in settings.items())]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "ATTEND_THREADS": "1"})
    parameters = int(re.search(r"(\d+) parameters", done.stdout)[1])
    return parameters, round(float(re.search(r"on held-out data, ([\d.]+)%", done.stdout)[1]) / 100, 4)


def measure(program: pathlib.Path, mixer: str, steps: int, distance: int, rate: float, seed: int) -> dict:
    settings = {"data.distance": distance, "training.rate": rate, "training.seed": seed}
    if mixer == "gru":
        settings |= {"model.mixer": "gru", "model.layers": 1, "model.hidden": gru_width(distance)}
    parameters, right = train(program, steps, settings)
    if abs(parameters - attention_parameters(distance)) > 0.05 * parameters:
        raise SystemExit(f"{mixer} has {parameters} parameters, attention {attention_parameters(distance)}")
    return dict(mixer=mixer, steps=steps, distance=distance, rate=rate, seed=seed, parameters=parameters, right=right)


def better_rate(rows: list[dict], mixer: str, steps: int, distance: int) -> tuple[float, list[float]]:
    """Of the rates the one whose mean over the seeds is higher, and its results; none where nothing was measured."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if (row["mixer"], row["steps"], row["distance"]) == (mixer, steps, distance):
            found.setdefault(row["rate"], []).append(row["right"])
    return max(found.items(), key=lambda one: statistics.mean(one[1]), default=(0.0, []))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/attend")
    parser.add_argument("--quick", action="store_true", help="few steps, two distances, and nothing is written")
    arguments = parser.parse_args()
    if arguments.quick:
        jobs = [(mixer, 20, distance, RATES[0], 1) for mixer in ("attention", "gru") for distance in (0, 3)]
    else:
        jobs = [(mixer, STEPS, distance, rate, seed) for mixer in ("attention", "gru") for distance in DISTANCES for rate in RATES for seed in SEEDS]
        jobs += [("gru", LONG_STEPS, distance, LONG_RATE, seed) for distance in LONG_DISTANCES for seed in SEEDS]
    jobs.sort(key=lambda job: job[1] * (job[2] + 4), reverse=True)  # the longest first, so that the cores finish together
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        rows = list(pool.map(lambda job: measure(arguments.program, *job), jobs))
    rows.sort(key=lambda row: tuple(row.values()))
    if not arguments.quick:
        lines = ["\t".join(rows[0])] + ["\t".join(str(value) for value in row.values()) for row in rows]
        FILE.write_text("\n".join(lines) + "\n")
    columns = list(dict.fromkeys((row["mixer"], row["steps"]) for row in rows))
    print("| words in between | " + " | ".join(f"{mixer}, {steps} steps" for mixer, steps in columns) + " |\n|---|" + "---|" * len(columns))
    for distance in sorted({row["distance"] for row in rows}):
        cells = []
        for mixer, steps in columns:
            rate, found = better_rate(rows, mixer, steps, distance)
            cells.append(", ".join(f"{100 * value:.1f}%" for value in found) + (f" (rate {rate})" if found else ""))
        print(f"| {distance} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
