"""The node test cases of the onnx package for the operators that the adapter knows, made by the package's own code."""

from __future__ import annotations

import functools
import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy
from onnx.backend.test.case import node as package

MODULES = {
    "Attention": "attention",
    "Gelu": "gelu",
    "LayerNormalization": "layernormalization",
    "RotaryEmbedding": "rotaryembedding",
    "Softmax": "softmax",
}


@functools.cache
def collected() -> tuple[dict[str, Any], dict[str, Any]]:
    """By name, those that hold an operator and those that hold its expansion into other operators.

    collect_testcases() of the package would make the cases of all its two hundred operators first, which takes five seconds. A module
    makes its own when it is imported.
    """
    state = numpy.random.get_state()  # the modules seed NumPy's generator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their reference overflows on purpose
        for module in MODULES.values():
            importlib.import_module(f"{package.__name__}.{module}")
    numpy.random.set_state(state)
    whole: dict[str, Any] = {}
    expansions: dict[str, Any] = {}
    for case in package._NodeTestCases:
        (expansions if "_expanded" in case.name else whole)[case.name] = case
    return whole, expansions


def operator_of(case: Any) -> str:
    return case.model.graph.node[0].op_type


def twin_of(name: str) -> str:
    """The case that an expansion was made from."""
    return name.partition("_expanded")[0]


def modules_with_cases() -> set[str]:
    """The modules of the package whose text names one of the operators."""
    folder = Path(package.__file__).parent
    return {path.stem for path in folder.rglob("*.py") if any(f'"{operator}"' in path.read_text() for operator in MODULES)}
