"""attend bench: what it prints, for programs and for people. Speed is not tested here."""

import json
import os
import pty
import signal
import statistics
import subprocess

import pytest

from program import PROGRAM, environment, interrupt, run, run_json, run_on_terminal, width, without_colors

KEYS = {
    "case": str, "dtype": str, "direction": str, "causal": bool, "b": int, "hq": int, "hkv": int, "lq": int, "lk": int,
    "d": int, "threads": int, "gflops": float, "peak_gflops": float, "share": float,
    "bench": str, "seconds": float, "seconds_low": float, "seconds_high": float, "share_low": float,
    "share_high": float, "rounds": int, "max_error": float, "isa": str, "cpu": str, "compiler": str, "version": str,
}
BENCHMARKS = ["attention", "matmul", "precision", "weights", "decode", "length"]


@pytest.fixture(scope="module")
def records():
    """Each benchmark, run once for all tests."""
    known = {}

    def of(name: str) -> list[dict]:
        if name not in known:
            known[name] = run_json("bench", name, "--quick")
        return known[name]

    return of


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_record_says_what_was_measured(name, records):
    assert records(name)
    for record in records(name):
        for key, kind in KEYS.items():
            assert isinstance(record[key], kind), (record["case"], key)
        assert record["bench"] == name
        assert record["direction"] in ("fwd", "bwd", "decode")
        assert record["dtype"] in ("f32", "bf16", "f16")
        assert record["hq"] % record["hkv"] == 0
        assert record["threads"] == len(os.sched_getaffinity(0))
    cases = [record["case"] for record in records(name)]
    assert len(set(cases)) == len(cases)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_figures_agree_with_each_other(name, records):
    for record in records(name):
        if "gbps" in record:
            assert record["share"] == pytest.approx(record["gbps"] / record["peak_gbps"])
        else:
            assert record["share"] == pytest.approx(record["gflops"] / record["peak_gflops"])
        assert 0 < record["seconds_low"] <= record["seconds"] <= record["seconds_high"]
        assert 0 < record["share_low"] <= record["share_high"]
        largest = 0.05 if name == "precision" else 4e-3 if record["dtype"] == "bf16" else 1e-3
        assert 0 < record["max_error"] <= largest


@pytest.mark.parametrize("name", BENCHMARKS)
def test_shares_are_possible(name, records):
    def typical(measured: list[dict]) -> float:
        # bf16 and int8 have instructions that multiply faster than those of the peak.
        shares = [record["share"] for record in measured if not record["case"].endswith((" bf16", " int8"))]
        assert min(shares) > 0
        return statistics.median(shares)

    # A quick run on a busy machine can be far off, but not twice.
    assert typical(records(name)) <= 1.2 or typical(run_json("bench", name, "--quick")) <= 1.2


def test_attention_counts_as_the_documents_say(records):
    for record in records("attention"):
        products = {"fwd": 2, "bwd": 5}[record["direction"]]
        flops = 2 * products * record["b"] * record["hq"] * record["lq"] * record["lk"] * record["d"]
        if record["causal"]:
            flops /= 2
        assert record["gflops"] == pytest.approx(flops / record["seconds"] / 1e9)


def test_attention_has_every_kind(records):
    kinds = {(record["direction"], record["causal"]) for record in records("attention")}
    assert kinds == {("fwd", False), ("fwd", True), ("bwd", False), ("bwd", True)}
    assert {record["dtype"] for record in records("attention")} >= {"f32", "bf16"}
    assert all(("time_over_full" in record) == record["causal"] for record in records("attention"))


def test_products_say_their_sizes(records):
    for record in records("matmul"):
        m, n, k = (record[name] for name in "mnk")
        assert (record["lq"], record["lk"], record["d"]) == (m, n, k)
        assert record["gflops"] == pytest.approx(2 * m * n * k / record["seconds"] / 1e9)


def test_precisions_are_compared_with_f32(records):
    measured = records("precision")
    for i, record in enumerate(measured):
        exact = next(other for other in reversed(measured[: i + 1]) if other["case"].endswith(" f32"))
        case, precision = record["case"].rsplit(" ", 1)
        assert case == exact["case"].rsplit(" ", 1)[0]
        assert record["time_of_f32_over_time"] == pytest.approx(exact["seconds"] / record["seconds"])
        assert record["max_error"] <= {"f32": 1e-5, "bf16": 1e-2, "int8": 5e-2}[precision]
    assert {record["case"].rsplit(" ", 1)[1] for record in measured} == {"f32", "bf16", "int8"}


def test_threads_are_compared_with_one():
    measured = run_json("bench", "threads", "--quick", "--threads", "3")
    assert [record["threads"] for record in measured] == [1, 2, 3] * (len(measured) // 3)
    for i, record in enumerate(measured):
        one = measured[i - i % 3]
        assert record["case"].rsplit(", ", 1)[0] == one["case"].rsplit(", ", 1)[0]
        assert record["speedup"] == pytest.approx(one["seconds"] / record["seconds"])
        assert record["efficiency"] == pytest.approx(record["speedup"] / record["threads"])


def test_decode_is_measured_by_what_it_reads(records):
    for record in records("decode"):
        assert (record["direction"], record["lq"]) == ("decode", 1)
        size = {"f32": 4, "bf16": 2, "f16": 2}[record["dtype"]]
        read = 2 * record["b"] * record["hkv"] * record["lk"] * record["d"] * size
        assert read >= 64e6
        assert record["gbps"] == pytest.approx(read / record["seconds"] / 1e9)


def test_weights_are_compared_with_the_output_alone(records):
    *questions, memory = records("weights")
    assert questions[0]["case"] == "output alone"
    for record in questions:
        assert record["time_over_output"] == pytest.approx(record["seconds"] / questions[0]["seconds"])
    # Inputs, output, top 8 and map, but nothing of size n x n.
    assert 0 < memory["memory_growth_bytes"] < memory["matrix_bytes"] / 2


def test_length_doubles_and_shows_memory(records):
    fused = {record["lk"]: record for record in records("length") if record["case"].startswith("fused")}
    naive = {record["lk"]: record for record in records("length") if record["case"].startswith("naive")}
    assert list(fused) == [128 << i for i in range(6)]
    assert naive.keys() <= fused.keys() and 128 in naive
    for n, record in naive.items():
        assert record["matrix_bytes"] == 4 * n * n
    longest = max(naive)
    assert fused[longest]["memory_bytes"] < naive[longest]["memory_bytes"] / 4
    assert naive[longest]["memory_bytes"] >= naive[longest]["matrix_bytes"] * 0.9


def second_isa() -> str:
    """One that computes f32 otherwise than the default does; "scalar" takes too long."""
    known = json.loads(run("doctor", "--json").out)["machine"]["isa"]["available"]
    return known[1] if len(known) > 2 else known[0]


def test_a_table_for_people_with_the_threads_and_instruction_set_they_ask_for():
    isa = second_isa()
    shown = run_on_terminal("bench", "matmul", "--quick", "--threads", "1", columns=80, env={"ATTEND_ISA": isa})
    assert (shown.code, shown.err) == (0, "")
    text = without_colors(shown.out)
    assert f"{isa}, 1 thread." in text and "GFLOP/s" in text and "512 x 384 x 1536" in text
    assert "share" in text and all(width(line) <= 80 for line in text.splitlines())


def test_an_unknown_instruction_set_is_refused_with_those_that_there_are():
    refusal = run("bench", "attention", env={"ATTEND_ISA": "nonsense"})
    assert (refusal.code, refusal.out) == (1, "") and refusal.err.count("\n") == 1
    assert {second_isa(), "scalar"} <= set(refusal.err.strip().split("there are ")[1].split(", "))


def test_progress_is_for_terminals_and_leaves_nothing():
    master, slave = pty.openpty()
    done = subprocess.run([PROGRAM, "bench", "matmul", "--quick", "--json"], stdout=subprocess.PIPE, stderr=slave,
                          env=environment(), timeout=60)
    os.close(slave)
    shown = os.read(master, 1 << 16).decode()
    os.close(master)
    assert done.returncode == 0 and json.loads(done.stdout)
    assert "matmul 512 x 384 x 384" in shown
    assert shown.endswith("\r\x1b[K")


def test_an_interruption_is_quiet():
    assert interrupt("bench", "attention", after=0.3) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("args, part", [
    (["nonsense"], 'there is no benchmark "nonsense"; available: attention, matmul, precision, threads, weights, decode, length'),
    ([""], 'there is no benchmark ""'),
    (["att\x1bention"], 'there is no benchmark "att\x1bention"'),
    (["attention", "decode"], 'unexpected argument "decode"'),
    (["--threads", "0"], '"0" is not a number of threads from 1 to 1024'),
    (["--threads", "1025"], '"1025" is not a number of threads'),
    (["--threads", "-1"], '"-1" is not a number of threads'),
    (["--threads", "two"], '"two" is not a number of threads'),
    (["--threads", ""], '"" is not a number of threads'),
    (["--threads"], "--threads needs a value"),
    (["--quick=1"], "--quick takes no value"),
    (["--fast"], "there is no option --fast"),
    (["--device", "gpu"], 'there is no kind of device "gpu"; expected cpu, cuda or cuda:N'),
    (["--device", "cuda:"], 'there is no kind of device "cuda:"'),
    (["--device", "cuda:1x"], 'there is no kind of device "cuda:1x"'),
])
def test_bad_arguments(args, part):
    result = run("bench", *args)
    assert (result.code, result.out) == (2, "")
    assert part in result.err.splitlines()[0]
    assert result.err.splitlines()[1:] == ["Try `attend bench --help`."]


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:7"])
def test_without_a_gpu_it_says_why(device):
    result = run("bench", "--device", device, env={"ATTEND_CUDA": "off"})
    name = "cuda:0" if device == "cuda" else device
    assert (result.code, result.out, result.err) == (1, "", f"attend bench: there is no device {name} here: ATTEND_CUDA is off\n")


def test_help_names_every_benchmark():
    text = run("bench", "--help").out
    for word in [*BENCHMARKS, "--quick", "--json", "--device", "--threads", "--color"]:
        assert word in text
