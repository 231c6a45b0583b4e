"""The tables of docs/scale.md: `attend bench ring` with 2 and 4 processes, through shared memory and through TCP.

    python3 bench/scale/ring.py [--program build/release/attend] [--repeats 3]

Of each number the smallest of the repeats' medians: what else the machine does can only add. With fewer cores than processes only what is sent and how exact
it is can be said, so no times are shown.
"""

import argparse
import json
import os
import subprocess

ANYWHERE = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
WAYS = {"shared memory": [], "TCP": ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]}


def measured(program: str, processes: int, way: str) -> dict[str, dict]:
    command = ["mpirun", "--oversubscribe", *WAYS[way], "-n", str(processes), program, "bench", "ring", "--threads", "1", "--json"]
    lines = json.loads(subprocess.run(command, env={**os.environ, **ANYWHERE}, check=True, capture_output=True, text=True).stdout)
    return {line["case"]: line for line in lines}


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-5 else "0"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/attend")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    for processes in (2, 4):
        runs = {way: [measured(given.program, processes, way) for _ in range(given.repeats if processes <= cores else 1)] for way in WAYS}
        print(f"\n{processes} processes on {cores} cores\n")
        print("| | sent, each | predicted | largest error | " + " | ".join(f"time, {way} | waited" for way in WAYS) + " |")
        print("|---|---|---|---|" + "---|---|" * len(WAYS))
        for case, line in runs["shared memory"][0].items():
            best = {way: {key: min(run[case][key] for run in list_of_runs) for key in ("seconds", "seconds_waited")} for way, list_of_runs in runs.items()}
            alone = case.startswith("one")
            cells = ["", "", ""] if alone else [f"{line['bytes_sent'] / 1e6:.2f} MB", f"{line['bytes_predicted'] / 1e6:.2f} MB", f"{line['max_error']:.2g}" if line["max_error"] else "same bits"]
            for way in WAYS:
                timed = processes <= cores
                cells += [milliseconds(best[way]["seconds"]) if timed else "", milliseconds(best[way]["seconds_waited"]) if timed and not alone else ""]
            print(f"| {case} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
