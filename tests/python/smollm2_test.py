"""SmolLM2-135M-Instruct, the default model for writing, beside transformers (tools/golden/make_smollm2.py): 98 MB, not in the repository."""

import json
import os
import pathlib

import numpy as np
import pytest

import attend

CASES = json.loads((pathlib.Path(__file__).parents[1] / "golden/smollm2.json").read_text())


@pytest.fixture(scope="module")
def generator():
    """From the GGUF file that the golden tokens are of. Left out without it; where gaps are not forgiven (tools/test.sh) it fails."""
    try:
        model = attend.TextModel.from_pretrained("smollm2")
    except attend.FileError as error:
        (pytest.fail if os.environ.get("ATTEND_NO_GAPS") else pytest.skip)(str(error))
    if not list(pathlib.Path(model.folder).glob("*.gguf")):
        pytest.skip("this machine has SmolLM2 from the hub, whose weights are not those of the golden tokens")
    return attend.Generator(model)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["prompt"])
def test_greedy_text_is_that_of_transformers(generator, case):
    assert case["smallest_gap"] > 1e-4  # no tie on the way: every token must be the same
    found = generator.generate(case["prompt"], max_tokens=64, temperature=0, repetition_penalty=1, ignore_end=True)
    assert found.prompt_tokens == len(case["ids"]) and found.tokens == case["written"]


def test_logits_are_those_of_transformers_in_float64(generator):
    for case in CASES:
        generator.clear()
        logits = generator.read(case["ids"]).astype(np.float64)
        tokens, expected = zip(*case["best"])
        assert np.argmax(logits) == tokens[0]
        np.testing.assert_allclose(logits[list(tokens)], expected, rtol=0, atol=1e-4)
    generator.clear()
