"""`attend serve` beside other servers of vectors, in turns, on the same cores as the clients.

    python bench/rivals/serving.py --program build/release/attend --model FOLDER --fastapi PYTHON --infinity FOLDER/bin/infinity_emb

--fastapi names a Python that has sentence-transformers, fastapi and uvicorn; --infinity the program of infinity-emb. Either may be left out.
Vectors are compared before anything is timed. Then 64 clients that ask again as soon as they have their answer, and, of each pair, both at half
of what the slower one served.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "serve"))
from load import Load, Report, openai_body, quantile, tei_body  # noqa: E402
from texts import made_up_texts  # noqa: E402

CLIENTS = 64
NAME = "all-MiniLM-L6-v2"


@dataclass
class Served:
    name: str
    command: list[str]
    path: str
    environment: dict[str, str]
    port: int = 0
    process: subprocess.Popen | None = None

    @property
    def body(self):
        return tei_body if self.path == "/embed" else lambda text: openai_body(text, NAME)

    def start(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [part.replace("PORT", str(self.port)) for part in self.command]
        self.process = subprocess.Popen(command, cwd=HERE, env={**os.environ, **self.environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while True:
            try:
                return self.vector("the river")
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise SystemExit(f"serving: {self.name} does not answer")
                time.sleep(0.3)

    def vector(self, text: str) -> list[float]:
        body = json.dumps({"inputs": text} if self.path == "/embed" else {"input": text, "model": NAME}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{self.path}", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            got = json.load(answer)
        return got[0] if self.path == "/embed" else got["data"][0]["embedding"]

    def load(self, texts: list[str], seconds: float, rate: float = 0, seed: int = 1) -> Report:
        load = Load(f"http://127.0.0.1:{self.port}/", self.path, [self.body(text) for text in texts], clients=0 if rate else CLIENTS, rate=rate)
        return load.run(seconds, warmup=min(1.0, seconds / 4), seed=seed)


def check(servers: list[Served], texts: list[str]):
    for text in texts[:8]:
        ours, *others = (server.vector(text) for server in servers)
        for server, theirs in zip(servers[1:], others):
            difference = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
            if difference > 1e-4:
                raise SystemExit(f"serving: a vector of {server.name} differs from ours by {difference:.2g}")


def measure(servers: list[Served], texts: list[str], seconds: float, rounds: int) -> list[dict]:
    rates: dict[str, list[float]] = {server.name: [] for server in servers}
    times: dict[str, list[float]] = {server.name: [] for server in servers}
    for _ in range(rounds):
        for server in servers:
            report = server.load(texts, seconds)
            if set(report.answers) != {200}:
                raise SystemExit(f"serving: {server.name} answered {dict(report.answers)}")
            rates[server.name].append(len(report.served) / seconds)
            times[server.name] += report.served
    lines = []
    ours = servers[0]
    for server in servers:
        lines.append({"server": server.name, "clients": CLIENTS, "texts_per_second": round(median(rates[server.name]), 1),
                      "runs": [round(rate, 1) for rate in rates[server.name]], "p99_ms": round(quantile(times[server.name], 0.99) * 1e3),
                      "our_rate_over_theirs": round(median(rates[ours.name]) / median(rates[server.name]), 2),
                      "our_p99_over_theirs": round(quantile(times[ours.name], 0.99) / quantile(times[server.name], 0.99), 2)})
    for server in servers[1:]:
        rate = median(rates[server.name]) / 2
        served: dict[str, list[float]] = {ours.name: [], server.name: []}
        for turn in range(rounds):
            for one in (ours, server):
                served[one.name] += one.load(texts, seconds, rate, turn).served
        lines.append({"server": server.name, "rate": round(rate, 1), "p99_ms": round(quantile(served[server.name], 0.99) * 1e3),
                      "our_p99_ms": round(quantile(served[ours.name], 0.99) * 1e3),
                      "our_p99_over_theirs": round(quantile(served[ours.name], 0.99) / quantile(served[server.name], 0.99), 2)})
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="a folder with all-MiniLM-L6-v2 or its like")
    parser.add_argument("--fastapi")
    parser.add_argument("--infinity")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=5, help="of a turn")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    model, threads = str(arguments.model.resolve()), str(arguments.threads)
    alone = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "OMP_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "false"}
    servers = [Served("attend", [str(arguments.program.resolve()), "serve", "-m", model, "--port", "PORT", "--threads", threads], "/embed", {})]
    if arguments.fastapi:
        command = [arguments.fastapi, "-m", "uvicorn", "sentence_server:app", "--port", "PORT", "--log-level", "error"]
        servers.append(Served("sentence-transformers behind FastAPI", command, "/embed", {**alone, "MODEL": model, "THREADS": threads}))
    if arguments.infinity:
        command = [arguments.infinity, "v2", "--model-id", model, "--served-model-name", NAME, "--port", "PORT", "--device", "cpu", "--engine", "torch"]
        servers.append(Served("infinity-emb", command, "/embeddings", alone))
    texts = made_up_texts(512)
    try:
        for server in servers:
            server.start()
        check(servers, texts)
        for line in measure(servers, texts, arguments.seconds, arguments.rounds):
            print(json.dumps(line), flush=True)
    finally:
        for server in servers:
            if server.process:
                server.process.send_signal(signal.SIGTERM)
        for server in servers:
            if server.process:
                try:
                    server.process.wait(15)
                except subprocess.TimeoutExpired:
                    server.process.kill()


if __name__ == "__main__":
    main()
