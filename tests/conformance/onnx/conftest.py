"""Counts the node tests of onnx by operator, and says what was not run and why."""

from __future__ import annotations

from collections import Counter
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    passed, run = Counter(), Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            operator = dict(report.user_properties).get("onnx_operator")
            if operator is not None and report.when == "call":
                run[operator] += 1
                passed[operator] += outcome == "passed"
    if not run:
        return
    import node_cases
    import onnx

    whole, expansions = node_cases.collected()
    listed = Counter(node_cases.operator_of(whole[node_cases.twin_of(name)]) for name in expansions)
    terminalreporter.section(f"node tests of onnx {onnx.__version__}")
    for operator in sorted(run):
        terminalreporter.line(f"onnx {operator}: {passed[operator]} of {run[operator]} passed; {listed[operator]} listed")
    terminalreporter.line("listed: NAME_expanded, the same operator written out in others, with the inputs and outputs of NAME")
