"""Measures attend beside its rivals, in turns, in one process but for training; prints ratios and writes them as JSON.

Answers are compared before anything is timed: two that differ by more than rounding end the run.
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path

import numpy as np

import bf16
import numpy_rivals
import torch_rivals
from attend_library import Attend
from report import Comparison, summary, table
from turns import take_turns

ROOT = Path(__file__).resolve().parents[2]

# B, heads, tokens, head size.
SHAPES = [(1, 12, 128, 64), (8, 12, 128, 64), (1, 12, 512, 64), (1, 8, 2048, 64), (1, 8, 4096, 64), (1, 8, 4096, 128),
          (1, 4, 16384, 64)]
QUICK_SHAPES = SHAPES[:3]
PRODUCTS = [(m, n, k) for m in (512, 128, 8, 1) for n in (384, 1536) for k in (384, 1536)]
TOP = 8


class Rivals:
    def __init__(self, arguments: argparse.Namespace):
        self.ours = Attend(arguments.library, arguments.threads)
        torch_rivals.set_threads(arguments.threads)
        self.blas = numpy_rivals.OpenBlas(arguments.threads)
        self.quick = arguments.quick
        self.only = arguments.only
        self.model = arguments.model
        self.program = arguments.program
        self.training: dict = {}
        self.writer = arguments.writer
        self.errors: list[str] = []  # of language models, in words
        self.names = [torch_rivals.NAME, numpy_rivals.NAME, self.blas.name()]
        self.shapes = QUICK_SHAPES if self.quick else SHAPES
        self.comparisons: list[Comparison] = []
        self.random = np.random.default_rng(1)

    def draw(self, *shape: int) -> np.ndarray:
        return self.random.standard_normal(shape, dtype=np.float32)

    def compare(self, group: str, rival: str, case: str, flops: float, ours, theirs, difference: float):
        seconds, rounds = (0.2, 3) if self.quick else (0.5, 5)
        timings = take_turns([ours, theirs], seconds, rounds)
        self.comparisons.append(Comparison(group, rival, case, flops, *timings, difference))
        if sys.stderr.isatty():
            print(f"\r\x1b[K{group} {case}: {self.comparisons[-1].ratio:.2f}x", end="", file=sys.stderr, flush=True)

    def forward(self, shape, causal: bool, rival, group: str, name: str):
        q, k, v = (self.draw(*shape) for _ in range(3))
        out = np.empty_like(q)
        run = self.ours.forward(q, k, v, causal, out)
        theirs = rival(q, k, v, causal)
        run()
        difference = agree(f"{group} {case_name(shape, causal)}", [(out, theirs())])
        self.compare(group, name, case_name(shape, causal), flops(shape, 2, causal), run, theirs, difference)

    def backward(self, shape, causal: bool):
        group = "torch SDPA, backward"
        q, k, v, d_out = (self.draw(*shape) for _ in range(4))
        out, state = np.empty_like(q), [np.empty(shape[:3], np.float32) for _ in range(2)]
        gradients = [np.empty_like(q) for _ in range(3)]
        self.ours.forward(q, k, v, causal, out, state)()
        run = self.ours.backward(q, k, v, causal, out, state, d_out, gradients)
        theirs = torch_rivals.sdpa_backward(q, k, v, causal, d_out)
        run()
        difference = agree(f"{group} {case_name(shape, causal)}", list(zip(gradients, theirs())))
        self.compare(group, torch_rivals.NAME, case_name(shape, causal), flops(shape, 5, causal), run, theirs,
                     difference)

    def forward_in_bf16(self, shape, causal: bool):
        """Both multiply in bf16, each in its own way; beside its speed stands the error of each."""
        q, k, v = (bf16.rounded(self.draw(*shape)) for _ in range(3))
        exact, out = np.empty(shape, np.float32), np.empty_like(q)
        self.ours.forward(*map(bf16.widened, (q, k, v)), causal, exact)()
        run = self.ours.forward(q, k, v, causal, out)
        self._compare_in_bf16("forward", shape, causal, run, torch_rivals.sdpa_forward(q, k, v, causal), 2, [(exact, out)])

    def backward_in_bf16(self, shape, causal: bool):
        q, k, v, d_out = (bf16.rounded(self.draw(*shape)) for _ in range(4))
        out, state = np.empty_like(q), [np.empty(shape[:3], np.float32) for _ in range(2)]
        gradients, exact = [np.empty_like(q) for _ in range(3)], [np.empty(shape, np.float32) for _ in range(3)]
        wide, wide_out = [bf16.widened(x) for x in (q, k, v)], np.empty(shape, np.float32)
        self.ours.forward(*wide, causal, wide_out, state)()
        self.ours.backward(*wide, causal, wide_out, state, bf16.widened(d_out), exact)()
        self.ours.forward(q, k, v, causal, out, state)()
        run = self.ours.backward(q, k, v, causal, out, state, d_out, gradients)
        theirs = torch_rivals.sdpa_backward(q, k, v, causal, d_out)
        self._compare_in_bf16("backward", shape, causal, run, theirs, 5, list(zip(exact, gradients, strict=True)))

    def _compare_in_bf16(self, direction: str, shape, causal: bool, run, theirs, products: int, pairs):
        """pairs: the exact answer in f32, and where ours is written."""
        group = f"torch SDPA in bf16, {direction}"
        run()
        answers = theirs()
        answers = answers if isinstance(answers, tuple) else (answers,)
        errors = [max(relative_error(one, exact) for one, (exact, _) in zip(each, pairs, strict=True))
                  for each in ([bf16.widened(ours) for _, ours in pairs], [x.float().numpy() for x in answers])]
        if not max(errors) < 0.05:
            raise SystemExit(f"rivals: {group} {case_name(shape, causal)}: relative errors of {errors[0]:.2g} and {errors[1]:.2g}")
        case = f"{case_name(shape, causal)} (error {errors[0]:.1e}, theirs {errors[1]:.1e})"
        self.compare(group, torch_rivals.NAME, case, flops(shape, products, causal), run, theirs, errors[0])

    def weights(self, shape):
        """Ours: output, the top 8 of every row, what each key receives. Theirs: output and the n x n weights; and
        the same top 8 and sums taken from those."""
        q, k, v = (self.draw(*shape) for _ in range(3))
        out, received = np.empty_like(q), np.empty(shape[:3], np.float32)
        top_keys, top_weights = np.empty((*shape[:3], TOP), np.int64), np.empty((*shape[:3], TOP), np.float32)
        run = self.ours.output_and_weights(q, k, v, out, top_keys, top_weights, received)
        theirs, theirs_reduced = torch_rivals.eager(q, k, v), torch_rivals.eager(q, k, v, TOP)
        run()
        their_out, their_weights = theirs()
        pairs = [(out, their_out), (np.take_along_axis(np.asarray(their_weights), top_keys, -1), top_weights)]
        their_out, _, their_top, their_sums = theirs_reduced()
        pairs += [(top_weights, their_top), (received, their_sums), (out, their_out)]
        difference = agree("weights", pairs)
        del their_weights, pairs
        case = ",".join(map(str, shape))
        self.compare("torch, weights returned", torch_rivals.NAME, case, 0, run, theirs, difference)
        self.compare("torch, weights reduced alike", torch_rivals.NAME, case, 0, run, theirs_reduced, difference)

    def product(self, m: int, n: int, k: int):
        a, w = self.draw(m, k), self.draw(k, n)
        packed = self.ours.pack(w)
        out, their_out = np.empty((m, n), np.float32), np.empty((m, n), np.float32)
        run, theirs = self.ours.matmul(a, packed, out), self.blas.matmul(a, w, their_out)
        run()
        theirs()
        difference = agree(f"matmul {m} x {n} x {k}", [(out, their_out)], 1e-5 * k**0.5)
        self.compare("OpenBLAS, matrix product", self.blas.name(), f"{m} x {n} x {k}", 2.0 * m * n * k, run, theirs,
                     difference)

    def transformers(self, threads: int):
        """A whole model, its matrix products included, which are PyTorch's on both sides."""
        import transformers_rivals  # takes seconds to import

        bert = transformers_rivals.Bert(threads, self.quick)
        difference = agree("transformers", [(np.asarray(ours), theirs) for ours, theirs in bert.pairs()])
        case = f"BERT-base, {bert.layers} layers, {transformers_rivals.TOKENS} tokens"
        for group, ours, theirs in (
            ("transformers, output_attentions=True", bert.collected(), bert.eager()),
            ("transformers, weights reduced alike", bert.collected(), bert.eager(reduced=True)),
            ("transformers sdpa, output alone", bert.output("attend"), bert.output("sdpa")),
        ):
            self.compare(group, transformers_rivals.NAME, case, 0, ours, theirs, difference)

    def encoder(self, threads: int):
        """A whole sentence encoder beside engines that run nothing else."""
        import encoder  # as above

        folder = encoder.folder_of(self.model)
        if folder is None:
            reason = f"{self.model} is not on this machine; get the default one with `make model`, others with `attend pull`, or give --model FOLDER"
            if self.only == "encoder":
                sys.exit(f"rivals: {reason}")
            print(f"rivals: no encoder is measured: {reason}", file=sys.stderr)
            return
        for precision in ("f32", "bf16", "int8"):
            self.comparisons += encoder.EncoderCases(folder, threads, self.quick, precision).run()
        self.names += encoder.NAMES

    def language(self, threads: int):
        """A language model in the blocks of its file."""
        import language  # as above

        files = attend_files(self.writer)
        if not files:
            reason = f"{self.writer} is no GGUF file of this machine; get the default one with `make model`, or give --writer FILE"
            if self.only == "language":
                sys.exit(f"rivals: {reason}")
            print(f"rivals: no language model is measured: {reason}", file=sys.stderr)
            return
        comparisons, self.errors = language.compare(files[0], threads, self.quick)
        self.comparisons += comparisons
        self.names.append(language.NAME)

    def train(self, program: Path, threads: int):
        """A language model that learns, in processes of its own."""
        import training  # as above

        comparisons, self.training = training.training(program, threads, self.quick)
        self.comparisons += comparisons

    def run_all(self, threads: int):
        cases = [(shape, causal) for causal in (False, True) for shape in self.shapes]
        if self.wanted("sdpa"):
            for shape, causal in cases:
                self.forward(shape, causal, torch_rivals.sdpa_forward, "torch SDPA, forward", torch_rivals.NAME)
            for shape, causal in cases:
                self.backward(shape, causal)
        if self.wanted("bf16"):
            for shape, causal in cases:
                self.forward_in_bf16(shape, causal)
            for shape, causal in cases:
                self.backward_in_bf16(shape, causal)
        if self.wanted("weights"):
            self.weights((1, 2, 1024, 64) if self.quick else (1, 8, 4096, 64))
        if self.wanted("numpy"):
            for shape, causal in cases:
                if shape[2] <= 4096:
                    self.forward(shape, causal, numpy_rivals.attention, "numpy, forward", numpy_rivals.NAME)
        if self.wanted("matmul"):
            for size in PRODUCTS:
                self.product(*size)
        if self.wanted("transformers"):
            self.transformers(threads)
        if self.wanted("encoder"):
            self.encoder(threads)
        if self.wanted("language"):
            self.language(threads)
        if self.wanted("training"):
            self.train(self.program, threads)

    def wanted(self, part: str) -> bool:
        return self.only in (None, part)


def attend_files(model: str) -> list[Path]:
    """The GGUF file of a model, where attend finds one; nothing is downloaded."""
    import attend

    try:
        found = Path(attend.TextModel.from_pretrained(model).folder)
    except attend.FileError:
        return []
    return [found] if found.is_file() else sorted(found.glob("*.gguf"))


def case_name(shape, causal: bool) -> str:
    return ",".join(map(str, shape)) + (" causal" if causal else " full")


def flops(shape, products: int, causal: bool) -> float:
    b, h, n, d = shape
    return 2.0 * products * b * h * n * n * d / (2 if causal else 1)


def agree(what: str, pairs, bound: float = 1e-4) -> float:
    """The largest difference between two answers; both are f32 and summed in their own order."""
    largest = 0.0
    for ours, theirs in pairs:
        theirs = np.asarray(theirs)
        scale = max(1.0, float(np.abs(theirs).max()))
        largest = max(largest, float(np.abs(ours - theirs).max()) / scale)
    if not largest <= bound:
        raise SystemExit(f"rivals: {what}: the two answers differ by {largest:.3g}, more than {bound:.3g}")
    return largest


def relative_error(answer: np.ndarray, exact: np.ndarray) -> float:
    """Root mean square."""
    return float(np.linalg.norm((answer - exact).ravel().astype(float)) / np.linalg.norm(exact.ravel().astype(float)))


def over_sdpa(comparisons: list[Comparison]) -> dict:
    """Forward and backward together."""
    sdpa = [one for one in comparisons if one.group.startswith("torch SDPA,")]
    return summary([Comparison(**{**vars(one), "group": "torch SDPA, all", "case": f"{one.group[12:]} {one.case}"})
                    for one in sdpa])[0]


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path, default=ROOT / "build/rivals/libattend_adapter.so")
    parser.add_argument("--program", type=Path, default=ROOT / "build/rivals/attend", help="of training (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=Path, default=ROOT / "build/rivals.json")
    parser.add_argument("--quick", action="store_true", help="short sequences, few rounds")
    parser.add_argument("--only", choices=["sdpa", "bf16", "weights", "numpy", "matmul", "transformers", "encoder", "language", "training"],
                        help="one part instead of all")
    parser.add_argument("--model", default="sentence-transformers/all-MiniLM-L6-v2",
                        help="of encoder: a folder, or a name in the hub's cache (default: %(default)s)")
    parser.add_argument("--writer", default="smollm2", help="of language: a GGUF file, or a name in the hub's cache (default: %(default)s)")
    arguments = parser.parse_args()

    rivals = Rivals(arguments)
    rivals.run_all(arguments.threads)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    machine = {"cpu": cpu_name(), "isa": rivals.ours.isa(), "isa_bf16": rivals.ours.isa_bf16(), "threads": arguments.threads, "rivals": rivals.names}
    print(f"{machine['cpu']}, {machine['isa']}, bf16 by {machine['isa_bf16']}, {arguments.threads} threads; {'; '.join(machine['rivals'])}.")
    print("Medians, half the distance between the quartiles after them. Ratio: their time over ours.\n")
    print(table(rivals.comparisons))
    summaries = list(summary(rivals.comparisons))
    if rivals.wanted("sdpa"):
        everything = over_sdpa(rivals.comparisons)
        summaries.append(everything)
        print(f"\ntorch SDPA, forward and backward: {everything['geometric_mean']:.2f}x over {everything['cases']} cases, "
              f"worst {everything['worst']:.2f}x ({everything['worst_case']})")
    for line in rivals.errors:
        print(f"\n{line}")
    if rivals.training:
        learned = rivals.training
        rates = "; ".join(f"{who} {rate:.0f}" for who, rate in learned["tokens_per_second"].items())
        print(f"\ntraining, tokens a second: {rates}; the machine's peak is {learned['peak_gflops']:.0f} GFLOP/s")
        print("training, most memory: " + "; ".join(learned.pop("lines")))
    arguments.json.write_text(json.dumps({
        "machine": machine, "results": [one.as_json() for one in rivals.comparisons], "summary": summaries,
        "training": rivals.training, "errors": rivals.errors}, indent=1) + "\n")
    print(f"written to {arguments.json}")


if __name__ == "__main__":
    main()
