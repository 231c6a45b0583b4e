"""How fast many texts become vectors: `attend embed` with all threads, attend.batch.run and attend.ray.run with a worker for each core, in turns.

    python bench/scale/texts.py [--texts 6000] [--rounds 3] [--workers 2] [--model NAME] [--program build/release/attend] [--only embed,ray]

Times are from the start of each program or run() to its end: models are loaded and packed in them. Ray has been started before, as on a cluster,
which takes some seconds more; "then" is the rate once each worker has made a part. Vectors are compared bit for bit.
"""

import argparse
import logging
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import ray

import attend.ray
from attend.batch import Embed, run

WORDS = """the of and to in a is that it was for on are as with his they at be this from have or by one had not but what all were when we there
can an your which their said if do will each about how up out them then she many some so these would other into has more her two like him see
time could no make than first been its who now people my made over did down only way find use may water long little very after words called
just where most know""".split()


def texts(count):
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(8, 19))) for _ in range(count)]  # 10 to 20 tokens with [CLS] and [SEP]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part-texts", type=int, default=500)
    parser.add_argument("--model", default="sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("--program", default="build/release/attend")
    parser.add_argument("--only", default="embed,batch,ray")
    given = parser.parse_args()
    start = time.perf_counter()
    ray.init(num_cpus=given.workers, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    print(f"ray.init took {time.perf_counter() - start:.1f} s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts.txt").write_text("\n".join(texts(given.texts)))
        options = dict(format="npy", part_texts=given.part_texts, workers=given.workers, threads=1)

        def program(out):
            subprocess.run([given.program, "embed", folder / "texts.txt", "-m", given.model, "-o", f"{out}.npy"], check=True)
            return np.load(f"{out}.npy")

        def runs(function):
            def way(out):
                seen = []
                done = function(Embed(given.model), folder / "texts.txt", out, **options, progress=seen.append)
                begun, end = seen[given.workers], seen[-1]
                rates.append(f"{(end.texts - begun.texts) / (end.seconds - begun.seconds):.0f}")
                return np.concatenate([np.load(file) for file in done.files])

            return way

        known = {"embed": program, "batch": runs(run), "ray": runs(attend.ray.run)}
        names = {"embed": "attend embed", "batch": "attend.batch.run", "ray": "attend.ray.run"}
        ways = {names[name]: known[name] for name in given.only.split(",")}
        seconds, rates = {name: [] for name in ways}, []
        for number in range(given.rounds):
            vectors = {}
            for name, way in ways.items():
                start = time.perf_counter()
                vectors[name] = way(folder / f"{name.replace(' ', '-')}-{number}")
                seconds[name].append(time.perf_counter() - start)
                print(f"{name}: {seconds[name][-1]:.2f} s{', then ' + rates.pop() + ' texts/s' if rates else ''}", flush=True)
            first, *others = vectors.values()
            assert all((found == first).all() for found in others), "the vectors differ"
    base = statistics.median(next(iter(seconds.values())))
    print(f"{given.texts} texts, {given.workers} workers of one thread, parts of {given.part_texts}; the same bits")
    print(f"{'':18}{'median':>8}{'least':>8}{'most':>8}{'texts/s':>9}{'share':>8}")
    for name, all_of_it in seconds.items():
        median = statistics.median(all_of_it)
        print(f"{name:18}{median:8.2f}{min(all_of_it):8.2f}{max(all_of_it):8.2f}{given.texts / median:9.0f}{base / median:8.2f}")
    ray.shutdown()


if __name__ == "__main__":
    main()
