"""What docs/serve.md says of the server's speed: beside `attend embed`, at half of the full load, and at four times of it.

    python3 bench/serve/measure.py --program build/release/attend [--only full|half|overload] [--seconds N]

One server for all parts, its clients on the same cores. Rates are of texts with an answer; `ms` are milliseconds from the moment at which a request was due.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import mean, median

from load import Load, Report, quantile, tei_body
from texts import made_up_texts

TEXTS = made_up_texts(512)
CLIENTS = 64


class Server:
    def __init__(self, program: str, model: str | None):
        command = [program, "serve", "--port", "0", *(["-m", model] if model else [])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            sys.exit("measure: the server did not start")
        self.bodies = [tei_body(text) for text in TEXTS]

    def load(self, seconds: float, warmup: float = 0.5, **how) -> Report:
        return Load(self.address, "/embed", self.bodies, **how).run(seconds, warmup)

    def memory(self) -> float:
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


def embedded_a_second(program: str, model: str | None) -> float:
    """By `attend embed`, loading the model included."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "texts.txt")
        file.write_text("\n".join(TEXTS) + "\n")
        command = [program, "embed", str(file), "-o", f"{folder}/vectors.npy", *(["-m", model] if model else [])]
        start = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return len(TEXTS) / (time.monotonic() - start)


def full(server: Server, arguments) -> float:
    """In turns. Returns what it served."""
    embedded, served, last = [], [], {}
    for _ in range(arguments.rounds):
        embedded.append(embedded_a_second(arguments.program, arguments.model))
        report = server.load(arguments.seconds, 1.0, clients=CLIENTS)
        served.append(len(report.served) / arguments.seconds)
        last = report.summary()
    show("embed", rates=[round(rate, 1) for rate in embedded])
    show("serve", clients=CLIENTS, rates=[round(rate, 1) for rate in served], share=round(median(served) / median(embedded), 2), last=last)
    return median(served)


def half(server: Server, arguments, rate: float):
    """Beside one text at a time, in turns."""
    alone, served, answers = [], [], set()
    for turn in range(arguments.rounds):
        alone += server.load(arguments.seconds / 3, 0.1, clients=1).served
        report = Load(server.address, "/embed", server.bodies, rate=rate / 2).run(arguments.seconds, 0.5, seed=turn)
        served += report.served
        answers |= set(report.answers)
    show("one at a time", mean_ms=round(mean(alone) * 1e3, 1), **milliseconds(alone))
    show("half", rate=round(rate / 2, 1), requests=len(served), statuses=sorted(answers), **milliseconds(served),
         p99_over_p99_alone=round(quantile(served, 0.99) / quantile(alone, 0.99), 2), p99_over_mean_alone=round(quantile(served, 0.99) / mean(alone), 2))


def overload(server: Server, arguments, rate: float):
    memory: list[float] = []
    done = threading.Event()

    def watch():
        while not done.wait(1.0):
            memory.append(round(server.memory(), 1))

    watcher = threading.Thread(target=watch)
    watcher.start()
    report = server.load(arguments.seconds * 3, 5.0, rate=4 * rate)
    done.set()
    watcher.join()
    show("overload", asked_a_second=round(4 * rate, 1), share_of_full=round(len(report.served) / report.seconds / rate, 3), **report.summary(),
         memory_mb={"after 5 s": memory[min(5, len(memory) - 1)], "most": max(memory), "last": memory[-1]})


def milliseconds(values: list[float]) -> dict:
    return {f"{name}_ms": round(quantile(values, part) * 1e3, 1) for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))}


def show(what: str, **values):
    print(json.dumps({"what": what, **values}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--model", help="default: that of attend serve")
    parser.add_argument("--only", choices=["full", "half", "overload"])
    parser.add_argument("--rate", type=float, help="the full load, if it is not to be measured")
    parser.add_argument("--seconds", type=float, default=5, help="of a turn; three times that for overload")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    server = Server(arguments.program, arguments.model)
    try:
        server.load(0.5, 0.1, clients=CLIENTS)
        rate = arguments.rate or full(server, arguments)
        if arguments.only in (None, "half"):
            half(server, arguments, rate)
        if arguments.only in (None, "overload"):
            overload(server, arguments, rate)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
