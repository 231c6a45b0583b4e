"""Tokens a second of a model that writes, with one client and with several, and how long each waits.

    python3 bench/serve/writing.py --program build/release/attend [--model smollm2] [--clients 1 2 4 8 16] [--tokens 64] [--repeats 3]

Each client has a prompt of its own, asks for as many tokens as --tokens says, and reads them as they come. All texts are compared with those of one client
alone. `first` is from the request to the first piece of text, `step` from piece to piece; both in milliseconds.
"""

import argparse
import http.client
import json
import signal
import subprocess
import sys
import threading
import time
from statistics import median
from urllib.parse import urlsplit

from load import quantile

PROMPTS = [f"{start} {middle}" for start in ("Once upon a time there was a bank by the river, and", "A list of things that a ship needs at sea:", "The king said to the two",
                                             "In the year 1905 a clerk at the patent office") for middle in ("", "nobody knew why", "every morning", "at night the old men")]


class Client(threading.Thread):
    def __init__(self, address: str, prompt: str, tokens: int):
        super().__init__()
        self.address, self.body = address, {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}
        self.text, self.pieces, self.tokens = "", [], 0

    def run(self):
        place = urlsplit(self.address)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=600)
        self.start_time = time.monotonic()
        connection.request("POST", "/v1/completions", json.dumps(self.body))
        for line in connection.getresponse():
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if event.get("usage"):
                self.tokens = event["usage"]["completion_tokens"]
            elif event["choices"][0]["text"]:
                self.pieces.append(time.monotonic())
                self.text += event["choices"][0]["text"]
        self.end_time = time.monotonic()


def turn(address: str, clients: int, tokens: int) -> list[Client]:
    running = [Client(address, PROMPTS[i % len(PROMPTS)], tokens) for i in range(clients)]
    for client in running:
        client.start()
    for client in running:
        client.join()
    return running


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/attend")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    server = subprocess.Popen([given.program, "serve", "--port", "0", "-m", given.model], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = server.stdout.readline().strip() or sys.exit("writing: the server did not start")
        alone = {}
        for prompt in PROMPTS[:max(given.clients)]:
            client = Client(address, prompt, given.tokens)
            client.start()
            client.join()
            alone[prompt] = client.text
        rates = {clients: [] for clients in given.clients}
        first, steps = {clients: [] for clients in given.clients}, {clients: [] for clients in given.clients}
        for _ in range(given.repeats):  # in turns, so that all meet the same moods of the machine
            for clients in given.clients:
                done = turn(address, clients, given.tokens)
                for client in done:
                    if client.text != alone[client.body["prompt"]]:
                        sys.exit(f"writing: with {clients} clients a text is another one")
                    first[clients].append(client.pieces[0] - client.start_time)
                    steps[clients] += [b - a for a, b in zip(client.pieces, client.pieces[1:])]
                seconds = max(client.end_time for client in done) - min(client.start_time for client in done)
                rates[clients].append(sum(client.tokens for client in done) / seconds)
        print("clients  tokens/s  of one   first p50   first p99   step p50   step p99")
        one = median(rates[given.clients[0]])
        for clients in given.clients:
            rate = median(rates[clients])
            times = [f"{quantile(values[clients], part) * 1e3:9.1f}" for values in (first, steps) for part in (0.5, 0.99)]
            print(f"{clients:7} {rate:9.1f} {rate / one:7.2f} " + "   ".join(times))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


if __name__ == "__main__":
    main()
