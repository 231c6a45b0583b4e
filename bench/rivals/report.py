"""Ratios, as a table and as JSON."""

import math
from dataclasses import asdict, dataclass

from turns import Timing


@dataclass
class Comparison:
    group: str      # one line of the summary each
    rival: str
    case: str
    flops: float    # of one call; 0 where the two do not do the same work
    ours: Timing
    theirs: Timing
    difference: float  # largest, between the two answers, before anything was timed

    @property
    def ratio(self) -> float:
        """How many times as fast we are."""
        return self.theirs.seconds / self.ours.seconds

    def as_json(self) -> dict:
        rates = {f"{who}_gflops": self.flops / timing.seconds / 1e9
                 for who, timing in (("our", self.ours), ("their", self.theirs)) if self.flops}
        return {**asdict(self), "ratio": self.ratio, **rates}


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(comparisons: list[Comparison]) -> list[dict]:
    """One line a group: the geometric mean of its ratios, and the worst."""
    lines = []
    for group in dict.fromkeys(one.group for one in comparisons):
        members = [one for one in comparisons if one.group == group]
        worst = min(members, key=lambda one: one.ratio)
        lines.append({"group": group, "cases": len(members),
                      "geometric_mean": geometric_mean([one.ratio for one in members]),
                      "worst": worst.ratio, "worst_case": worst.case})
    return lines


def _seconds(value: float) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            break
    return f"{value / size:.3g} {unit}"


def _rate(one: Comparison, timing: Timing) -> str:
    return f"{one.flops / timing.seconds / 1e9:.0f}" if one.flops else ""


def _spread(timing: Timing) -> str:
    return f"±{50 * (timing.high - timing.low) / timing.seconds:.0f}%"


def _columns(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def table(comparisons: list[Comparison]) -> str:
    parts = []
    for group in dict.fromkeys(one.group for one in comparisons):
        rows = [[group, "ours", "", "GFLOP/s", "theirs", "", "GFLOP/s", "ratio"]]
        for one in comparisons:
            if one.group == group:
                rows.append([one.case, _seconds(one.ours.seconds), _spread(one.ours), _rate(one, one.ours),
                             _seconds(one.theirs.seconds), _spread(one.theirs), _rate(one, one.theirs),
                             f"{one.ratio:.2f}x"])
        parts.append(_columns(rows))
    rows = [["", "cases", "geometric mean", "worst", "worst case"]]
    for line in summary(comparisons):
        rows.append([line["group"], str(line["cases"]), f"{line['geometric_mean']:.2f}x", f"{line['worst']:.2f}x",
                     line["worst_case"]])
    return "\n\n".join([*parts, _columns(rows)])
