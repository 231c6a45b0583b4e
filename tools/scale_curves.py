#!/usr/bin/env python3
"""Learning recall with scores divided by sqrt(d) and without; writes docs/images/scale-curves.tsv.

    tools/scale_curves.py [--program build/release/attend]

One head of all 64 or 256 dimensions, 600 steps, three seeds each: some minutes on two cores. docs/training.md has the figure, which a test
draws from the file: ATTEND_WRITE_GOLDEN=1 build/release/tests/draw/attend_draw_test --gtest_filter='*ScaleCurves*'.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "images" / "scale-curves.tsv"


def losses(program: pathlib.Path, hidden: int, scaled: bool, seed: int) -> list[tuple[int, float, float]]:
    """(step, loss, share of right answers) on what was never learned from."""
    settings = {"model.heads": 1, "model.hidden": hidden, "model.scaled": str(scaled).lower(), "training.seed": seed, "training.evaluate": 20}
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "recall", "-o", f"{folder}/model", *(f"--set={key}={value}" for key, value in settings.items())]
        subprocess.run(command, check=True, capture_output=True)
        lines = [json.loads(line) for line in pathlib.Path(folder, "model/metrics.jsonl").read_text().splitlines()]
    return [(line["step"], line["validation_loss"], line["accuracy"]) for line in lines if "validation_loss" in line]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/attend")
    program = parser.parse_args().program
    rows = ["hidden\tscaled\tseed\tstep\tloss\tright"]
    for hidden in (64, 256):
        for scaled in (True, False):
            for seed in (1, 2, 3):
                found = losses(program, hidden, scaled, seed)
                rows += [f"{hidden}\t{int(scaled)}\t{seed}\t{step}\t{loss:.4f}\t{right:.4f}" for step, loss, right in found]
                print(f"hidden {hidden}, {'divided by sqrt(d)' if scaled else 'as they are'}, seed {seed}: {rows[-1]}", flush=True)
    FILE.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
