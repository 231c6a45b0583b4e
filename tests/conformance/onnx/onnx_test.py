"""The node tests of the onnx package, run on attend."""

from __future__ import annotations

from typing import Any, Iterator

import adapter
import node_cases
import numpy
import pytest
from onnx.backend.test.runner import Runner

import attend

CASES, EXPANSIONS = node_cases.collected()


@pytest.fixture
def any_isa() -> Iterator[list[str]]:
    """Those to try; afterwards the one in use is the default again."""
    yield attend.available_isas()
    attend.set_isa("")


@pytest.mark.parametrize("name", CASES)
def test_node(name: str, any_isa: list[str], record_property: Any) -> None:
    case = CASES[name]
    record_property("onnx_operator", node_cases.operator_of(case))
    (node,) = case.model.graph.node
    for isa in any_isa:
        attend.set_isa(isa)
        for inputs, expected in case.data_sets:
            outputs = adapter.run(node, inputs)
            Runner.assert_similar_outputs(expected, outputs, case.rtol, case.atol)
            assert_close_to_float32(expected, outputs)


def assert_close_to_float32(expected: list[Any], outputs: list[Any]) -> None:
    """A thousand times closer than the package asks for, where its own reference has the digits."""
    for one, other in zip(expected, outputs):
        if one.dtype == numpy.float32:
            numpy.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6)


def test_every_operator_has_cases() -> None:
    assert {node_cases.operator_of(case) for case in CASES.values()} == set(node_cases.MODULES) == set(adapter.OPERATORS)
    assert node_cases.modules_with_cases() == set(node_cases.MODULES.values())


def test_expansions_have_the_data_of_a_case_that_is_run() -> None:
    for name, case in EXPANSIONS.items():
        twin = CASES[node_cases.twin_of(name)]
        for (inputs, outputs), (its_inputs, its_outputs) in zip(case.data_sets, twin.data_sets, strict=True):
            assert inputs is its_inputs and outputs is its_outputs, name
