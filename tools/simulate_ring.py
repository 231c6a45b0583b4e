#!/usr/bin/env python3
"""How long attention over many processes takes, simulated step by step from measured rates (docs/scale.md).

  tools/simulate_ring.py                                    efficiency by processes and network, for a million tokens
  tools/simulate_ring.py --tokens 131072 --gflops 100       another length, another speed of a process
  tools/simulate_ring.py --processes 64 --gbit 10 --jitter 0.1

Every process computes with the block it has, sends it to the next one meanwhile, and begins its next step when it has
finished, its block has left and the following one has come. A transfer begins when both sides have begun the step.
"""

import argparse
import dataclasses

import numpy

NETWORKS = {  # Gbit/s and microseconds: what a message takes besides its bytes, software included
    "10 GbE": (10, 30),
    "25 GbE": (25, 20),
    "100 GbE": (100, 10),
    "InfiniBand HDR": (200, 2),
}


@dataclasses.dataclass(frozen=True)
class Machine:
    """What was measured, or is known of the network."""

    flops: float = 75e9  # per second, of one process, in attention
    bandwidth: float = 1.25e9  # bytes per second from one process to another
    latency: float = 30e-6  # seconds a message takes besides its bytes
    overlap: float = 1.0  # the share of a transfer that can happen while its process computes
    jitter: float = 0.0  # a step takes up to this share longer, at random


@dataclasses.dataclass(frozen=True)
class Shape:
    """A sequence and its heads; numbers of f32."""

    tokens: int = 1 << 20
    heads: int = 12
    key_heads: int = 12
    size: int = 64
    causal: bool = True

    def block_bytes(self, processes):
        return 2 * self.tokens * self.key_heads * self.size * 4 / processes


def pairs(shape, processes, step):
    """How many pairs of query and key each process computes at a step."""
    if not shape.causal:
        return numpy.full(processes, (shape.tokens / processes) ** 2)
    rank = numpy.arange(processes)
    source = (rank - step) % processes
    chunk = shape.tokens / (2 * processes)
    count = numpy.zeros(processes)
    for queries in (rank, 2 * processes - 1 - rank):
        for keys in (source, 2 * processes - 1 - source):
            count += numpy.where(queries > keys, chunk**2, numpy.where(queries == keys, chunk * (chunk + 1) / 2, 0))
    return count


def compute_seconds(shape, processes, step, machine, random, products):
    """Each process's time for a step; `products`: 2 forward, 5 backward, of 2 operations for each pair and number."""
    seconds = 2 * products * pairs(shape, processes, step) * shape.heads * shape.size / machine.flops
    return seconds * (1 + machine.jitter * random.random(processes))


def ring_seconds(shape, processes, machine, backward=False, seed=1):
    """From the first step's begin to the end of the slowest process."""
    random = numpy.random.default_rng(seed)
    transfer = machine.latency + shape.block_bytes(processes) / machine.bandwidth
    begun = numpy.zeros(processes)  # when each begins this step
    link_free = numpy.zeros(processes)  # when the link to the next process has sent what it was given
    sums_here = numpy.zeros(processes)  # when the sums of this step's block have come (backward)
    for step in range(processes):
        seconds = compute_seconds(shape, processes, step, machine, random, 5 if backward else 2)
        computed = begun + seconds
        if step + 1 == processes and not backward:
            return float(computed.max())
        if step + 1 < processes:
            start = numpy.maximum(numpy.maximum(begun, numpy.roll(begun, -1)), link_free)
            sent = start + transfer
            # What cannot happen while either side computes comes after it.
            busy = numpy.maximum(computed, numpy.roll(computed, -1))
            sent = numpy.where(machine.overlap < 1, numpy.maximum(sent, busy + (1 - machine.overlap) * transfer), sent)
            link_free = sent
            ready = numpy.maximum(computed, numpy.maximum(sent, numpy.roll(sent, 1)))
        else:
            ready = computed
        if backward and processes > 1:
            added = numpy.maximum(ready, sums_here)
            sums_sent = numpy.maximum(numpy.maximum(added, numpy.roll(added, -1)), link_free) + transfer
            link_free = sums_sent
            sums_here = numpy.roll(sums_sent, 1)
        begun = ready
    return float(numpy.maximum(begun, sums_here).max())


def gathered_seconds(shape, processes, machine, seed=1):
    """All keys first, then everything at once."""
    random = numpy.random.default_rng(seed)
    messages = (processes - 1) * (machine.latency + shape.block_bytes(processes) / machine.bandwidth)
    steps = [compute_seconds(shape, processes, step, machine, random, 2) for step in range(processes)]
    return messages + float(numpy.sum(steps, axis=0).max())


def alone_seconds(shape, machine, backward=False):
    """One process, nothing to send."""
    return ring_seconds(shape, 1, dataclasses.replace(machine, jitter=0), backward)


def efficiency(shape, processes, machine, seconds=ring_seconds, **how):
    """The share of its time that a process would need if the work were merely divided."""
    ideal = alone_seconds(shape, machine, how.get("backward", False)) / processes
    return ideal / seconds(shape, processes, machine, **how)


def table(shape, machine, counts):
    """A line for each number of processes, as in docs/scale.md."""
    lines = ["| processes | " + " | ".join(NETWORKS) + " | backward, 10 GbE | gathered, 10 GbE |"]
    lines.append("|" + "---|" * (len(NETWORKS) + 3))
    machines = [
        dataclasses.replace(machine, bandwidth=gbit * 1e9 / 8, latency=microseconds * 1e-6)
        for gbit, microseconds in NETWORKS.values()
    ]
    for count in counts:
        shares = [efficiency(shape, count, one) for one in machines]
        shares.append(efficiency(shape, count, machines[0], backward=True))
        shares.append(efficiency(shape, count, machines[0], gathered_seconds))
        lines.append(f"| {count} | " + " | ".join(f"{100 * share:.1f}%" for share in shares) + " |")
    return "\n".join(lines)


def main():
    """Prints a table, or one number."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=Shape.tokens)
    parser.add_argument("--heads", type=int, default=Shape.heads)
    parser.add_argument("--key-heads", type=int, default=Shape.key_heads)
    parser.add_argument("--size", type=int, default=Shape.size, help="of a head")
    parser.add_argument("--full", action="store_true", help="every query sees every key (default: causal)")
    parser.add_argument("--gflops", type=float, default=Machine.flops / 1e9, help="of one process, in attention")
    parser.add_argument("--overlap", type=float, default=Machine.overlap, help="share of a transfer hidden by computing")
    parser.add_argument("--jitter", type=float, default=0.05, help="a step takes up to this share longer, at random")
    parser.add_argument("--processes", type=int, help="one number of processes, on one network")
    parser.add_argument("--gbit", type=float, default=10, help="of that network")
    parser.add_argument("--latency", type=float, default=30, help="of that network, in microseconds")
    given = parser.parse_args()
    shape = Shape(given.tokens, given.heads, given.key_heads, given.size, not given.full)
    machine = Machine(given.gflops * 1e9, given.gbit * 1e9 / 8, given.latency * 1e-6, given.overlap, given.jitter)
    if given.processes is None:
        print(table(shape, machine, [2**power for power in range(1, 11)]))
        return
    for name, how in {"forward": {}, "backward": {"backward": True}}.items():
        share = efficiency(shape, given.processes, machine, **how)
        seconds = ring_seconds(shape, given.processes, machine, **how)
        print(f"{name}: {seconds:.3f} s, efficiency {100 * share:.1f}%")


if __name__ == "__main__":
    main()
