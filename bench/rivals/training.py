"""Training beside PyTorch: tokens a second and memory, each side in processes of its own, in turns.

attend is the program itself, `attend train text`; the seconds of its steps are those of its metrics.jsonl. Memory is what a process had
at most beyond the same program doing nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from report import Comparison
from training_shape import BATCH, LENGTH, flops, settings
from turns import Timing, timing_of

HERE = Path(__file__).resolve().parent
WARMUP = 2  # steps: the first touch their memory
LOSS_BOUND = 1e-4


@dataclass
class Memory:
    who: str
    megabytes: float  # beyond the idle program, the median of its runs
    idle: float
    ratio: float      # to PyTorch's

    def line(self) -> str:
        return f"{self.who}: {self.megabytes:.0f} MB beyond the idle program's {self.idle:.0f} MB, {self.ratio:.2f}x of PyTorch's"


def run(command: list, threads: int) -> tuple[str, float]:
    """What it prints, and the most memory it had, in MB."""
    environment = {**os.environ, "ATTEND_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    with tempfile.NamedTemporaryFile("r") as peak:
        measured = [sys.executable, "-I", "-S", HERE / "peak_memory.py", peak.name, *command]
        done = subprocess.run(list(map(str, measured)), capture_output=True, text=True, env=environment)
        if done.returncode:
            raise RuntimeError(" ".join(done.stderr.split("\n")[-3:]).strip() or "it said nothing")
        return done.stdout, int(peak.read()) / 1024


class Training:
    def __init__(self, program: Path, threads: int, quick: bool, scratch: Path):
        self._program, self._threads, self._quick = program, threads, quick
        self._steps, self._rounds = (WARMUP + 2, 2) if quick else (WARMUP + 10, 5)
        self._scratch = scratch
        self._text = scratch / "text.txt"
        self._text.write_text(made_up_text())
        self._folders = 0

    def ours(self, recompute: bool = False, precision: str = "f32", steps: int | None = None) -> tuple[float, float, Path]:
        """Seconds a step after the warm-up, memory, and the folder."""
        self._folders += 1
        folder = self._scratch / f"model{self._folders}"
        given = settings(self._text, steps or self._steps, recompute) | {"training.precision": precision}
        _, memory = run([self._program, "train", "text", "-o", folder, *(f"--set={key}={value}" for key, value in given.items())], self._threads)
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        # tokens_per_second is that of all steps so far.
        taken = [line["step"] * BATCH * LENGTH / line["tokens_per_second"] for line in lines if "tokens_per_second" in line]
        return (taken[-1] - taken[WARMUP - 1]) / (len(taken) - WARMUP), memory, folder

    def theirs(self, compiled: bool = False, bf16: bool = False) -> tuple[float, float]:
        flags = [*(["--compile"] if compiled else []), *(["--bf16"] if bf16 else [])]
        out, memory = self._torch("--steps", self._steps, "--warmup", WARMUP, *flags)
        return json.loads(out)["seconds"], memory

    def _torch(self, *arguments) -> tuple[str, float]:
        return run([sys.executable, HERE / "torch_training.py", "--text", self._text, "--threads", self._threads, *arguments], self._threads)

    def idle(self) -> tuple[float, float]:
        return run([self._program, "train", "--print-config"], self._threads)[1], self._torch()[1]

    def difference(self) -> float:
        """PyTorch opens what attend learned in some steps: its loss on what was held out is the one that attend measured."""
        _, _, folder = self.ours()
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        measured = [line["validation_loss"] for line in lines if "validation_loss" in line][-1]
        judged = json.loads(self._torch("--judge", folder)[0])["loss"]
        if not abs(measured - judged) <= LOSS_BOUND:
            raise SystemExit(f"rivals: training: the loss is {measured} here and {judged} in PyTorch")
        return abs(measured - judged)

    def measure(self) -> tuple[list[Comparison], dict[str, float], list[Memory]]:
        difference = self.difference()
        ways = {"attend": lambda: self.ours()[:2], "attend, recompute": lambda: self.ours(recompute=True)[:2],
                "attend, bf16": lambda: self.ours(precision="bf16")[:2], "PyTorch": self.theirs, "PyTorch, bf16": lambda: self.theirs(bf16=True)}
        if not self._quick:
            try:
                self.theirs(compiled=True)  # what it compiles stays in its cache
                ways["PyTorch, compiled"] = lambda: self.theirs(compiled=True)
            except RuntimeError as reason:
                print(f"rivals: training: PyTorch compiled is left out: {reason}", file=sys.stderr)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for turn in range(self._rounds):
            for name, way in ways.items():
                found[name].append(way())
                if sys.stderr.isatty():
                    print(f"\r\x1b[Ktraining, turn {turn + 1}: {name}: {found[name][-1][0]:.3g} s", end="", file=sys.stderr, flush=True)
        seconds: dict[str, Timing] = {name: timing_of([one for one, _ in turns]) for name, turns in found.items()}
        comparisons = [Comparison(f"training, {BATCH} x {LENGTH} tokens, {ours}", theirs, theirs, flops(), seconds[ours], seconds[theirs], difference)
                       for ours in ("attend", "attend, recompute", "attend, bf16") for theirs in ways if theirs.startswith("PyTorch")]
        our_idle, their_idle = self.idle()
        idle = {name: their_idle if name.startswith("PyTorch") else our_idle for name in ways}
        beyond = {name: median(memory for _, memory in turns) - idle[name] for name, turns in found.items()}
        tokens = {name: BATCH * LENGTH / timing.seconds for name, timing in seconds.items()}
        return comparisons, tokens, [Memory(name, beyond[name], idle[name], beyond[name] / beyond["PyTorch"]) for name in ways]


def made_up_text() -> str:
    """Words of letters that come again: 160 kB, of which a tenth is held out in fewer than 64 windows."""
    state, words = 1, []
    for _ in range(32000):
        state = state * 6364136223846793005 % 2**64 + 1442695040888963407
        number = state >> 40
        words.append("".join(chr(ord("a") + number // 26**place % 26) for place in range(1 + number % 6)))
    return " ".join(words)[:160000] + "\n"


def machine_peak(program: Path, threads: int) -> float:
    """GFLOP/s of a loop of multiply-adds, as `attend bench` measures it."""
    out, _ = run([program, "bench", "matmul", "--quick", "--json", "--threads", threads], threads)
    return median(case["peak_gflops"] for case in json.loads(out))


def training(program: Path, threads: int, quick: bool) -> tuple[list[Comparison], dict]:
    with tempfile.TemporaryDirectory() as scratch:
        comparisons, tokens, memory = Training(program, threads, quick, Path(scratch)).measure()
    return comparisons, {"tokens_per_second": tokens, "peak_gflops": machine_peak(program, threads),
                         "memory": [asdict(one) for one in memory], "lines": [one.line() for one in memory]}
