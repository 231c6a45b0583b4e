"""tools/simulate_ring.py against closed forms, and docs/scale.md against what it prints."""

import dataclasses
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("simulate_ring", ROOT / "tools/simulate_ring.py")
ring = importlib.util.module_from_spec(spec)
sys.modules["simulate_ring"] = ring
spec.loader.exec_module(ring)

FULL = ring.Shape(tokens=8192, causal=False)
CAUSAL = ring.Shape(tokens=8192)
FREE = ring.Machine(bandwidth=1e15, latency=0)


def seconds_of_pairs(shape, pairs, machine):
    return 4 * pairs * shape.heads * shape.size / machine.flops


@pytest.mark.parametrize("processes", [1, 2, 3, 16])
def test_every_pair_is_computed_once(processes):
    full = sum(ring.pairs(FULL, processes, step).sum() for step in range(processes))
    assert full == pytest.approx(8192**2)
    causal = sum(ring.pairs(CAUSAL, processes, step).sum() for step in range(processes))
    assert causal == pytest.approx(8192 * 8193 / 2)


def test_zigzag_gives_all_the_same_work_at_every_step():
    for step in range(16):
        work = ring.pairs(CAUSAL, 16, step)
        assert work.max() == pytest.approx(work.min())


def test_one_process_sends_nothing():
    expected = seconds_of_pairs(CAUSAL, 8192 * 8193 / 2, FREE)
    slow = dataclasses.replace(FREE, bandwidth=1, latency=1)
    assert ring.ring_seconds(CAUSAL, 1, slow) == pytest.approx(expected)


@pytest.mark.parametrize("shape", [FULL, CAUSAL])
@pytest.mark.parametrize("processes", [2, 8, 64])
def test_a_free_network_costs_nothing(shape, processes):
    assert ring.efficiency(shape, processes, FREE) == pytest.approx(1, rel=1e-6)
    assert ring.efficiency(shape, processes, FREE, backward=True) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("processes", [2, 8, 64])
def test_a_slow_network_is_all_there_is(processes):
    """Every step but the last waits for a transfer; the last one computes."""
    slow = dataclasses.replace(FREE, bandwidth=1e5, latency=0.5)
    transfer = 0.5 + FULL.block_bytes(processes) / 1e5
    compute = seconds_of_pairs(FULL, (8192 / processes) ** 2, slow)
    assert transfer > compute
    assert ring.ring_seconds(FULL, processes, slow) == pytest.approx((processes - 1) * transfer + compute)


@pytest.mark.parametrize("processes", [2, 8, 64])
def test_what_is_shorter_than_a_step_is_hidden(processes):
    compute = seconds_of_pairs(FULL, (8192 / processes) ** 2, FREE)
    almost = dataclasses.replace(FREE, bandwidth=FULL.block_bytes(processes) / (0.99 * compute))
    assert ring.ring_seconds(FULL, processes, almost) == pytest.approx(processes * compute)


def test_without_overlap_every_transfer_comes_after_its_step():
    machine = dataclasses.replace(FREE, bandwidth=1e9, latency=1e-3, overlap=0)
    transfer = 1e-3 + FULL.block_bytes(8) / 1e9
    compute = seconds_of_pairs(FULL, 1024**2, machine)
    assert ring.ring_seconds(FULL, 8, machine) == pytest.approx(8 * compute + 7 * transfer)


def test_gathered_waits_first():
    machine = dataclasses.replace(FREE, bandwidth=1e9, latency=1e-3)
    transfer = 1e-3 + FULL.block_bytes(8) / 1e9
    compute = seconds_of_pairs(FULL, 8192**2 / 8, machine)
    assert ring.gathered_seconds(FULL, 8, machine) == pytest.approx(7 * transfer + compute)


def test_backward_on_a_slow_network_sends_keys_and_sums_in_turn():
    """Of two processes: the keys, then the sums to the other one, then the sums back."""
    slow = dataclasses.replace(FREE, bandwidth=1e5)
    transfer = FULL.block_bytes(2) / 1e5
    assert ring.ring_seconds(FULL, 2, slow, backward=True) == pytest.approx(3 * transfer, rel=0.01)


def test_a_million_tokens_on_64_processes():
    """What issue and documents promise: with one core a process, and with a machine of 32 a process."""
    for flops in (75e9, 2400e9):
        machine = ring.Machine(flops=flops, bandwidth=1.25e9, latency=30e-6, jitter=0.05)
        assert ring.efficiency(ring.Shape(), 64, machine) >= 0.9
        assert ring.efficiency(ring.Shape(), 64, machine, backward=True) >= 0.9


def test_the_document_has_what_it_prints():
    document = (ROOT / "docs/scale.md").read_text()
    counts = [2, 8, 64, 256, 1024]
    for flops in (75e9, 2400e9):
        table = ring.table(ring.Shape(), ring.Machine(flops=flops, jitter=0.05), counts)
        assert table in document, f"docs/scale.md does not have\n{table}"
