"""Invalid requests are refused: one sentence on standard error, nothing on standard output, exit code 1 or 2."""

import pytest

from program import run, run_lesson

# Arguments, exit code, part of the sentence.
COMMAND_LINES = [
    (["nonsense"], 2, 'there is no command "nonsense"'),
    (["nonsense", "--help"], 2, 'there is no command "nonsense"'),
    ([""], 2, 'there is no command ""'),
    (["STEPS"], 2, 'there is no command "STEPS"'),
    (["--nonsense"], 2, "there is no option --nonsense"),
    (["non\x1b[31msense"], 2, 'there is no command "non\x1b[31msense"'),  # a pipe gets the bytes unchanged: hostile_names_test.py
    (["--color=blue", "steps"], 2, '"blue" is not one of auto, always and never'),
    (["--color"], 2, "--color needs a value"),
    (["steps", "--nonsense"], 2, "there is no option --nonsense"),
    (["steps", "-x"], 2, "there is no option -x"),
    (["steps", "--exampl", "it"], 2, "there is no option --exampl"),
    (["steps", "--example"], 2, "--example needs a value"),
    (["steps", "--example", "nope"], 2, 'there is no example "nope"; available: love, it, it-trained, heads'),
    (["steps", "--example", ""], 2, 'there is no example ""'),
    (["steps", "--example", "a\x1bbc"], 2, 'there is no example "a\x1bbc"'),
    (["steps", "--color=0"], 2, '"0" is not one of auto, always and never'),
    (["steps", "--color=al\tways"], 2, '"al\tways" is not one of'),
    (["steps", "--json=3"], 2, "--json takes no value"),
    (["steps", "--json", "false"], 1, "false: cannot be read"),
    (["steps", "--focus"], 2, "--focus needs a value"),
    (["steps", "--focus", "nope"], 1, 'there is no token "nope" to focus on, the tokens are I, love, deep, learning'),
    (["steps", "--focus", ""], 1, 'there is no token ""'),
    (["steps", "--focus", "I#2"], 1, 'there is no token "I#2"'),
    (["steps", "--focus", "I#0"], 1, 'there is no token "I#0"'),
    (["steps", "--focus", "I#-1"], 1, 'there is no token "I#-1"'),
    (["steps", "--focus", "I#99999999999999999999"], 1, "there is no token"),
    (["steps", "--focus", "nope", "--json"], 1, 'there is no token "nope"'),
    (["steps", "a.json", "b.json"], 2, 'unexpected argument "b.json"'),
    (["steps", "a.json", "--example", "it"], 2, "either a file or --example"),
    (["steps", ""], 1, "'': cannot be read: No such file"),
    (["steps", "no/such/file"], 1, "no/such/file: cannot be read: No such file"),
    (["steps", "/"], 1, "/: cannot be read: Is a directory"),
    (["steps", "a\nb"], 1, "a␊b: cannot be read"),
]


def assert_refused(result, code: int, part: str):
    lines = result.err.splitlines()
    assert result.code == code
    assert result.out == ""
    assert part in lines[0]
    assert lines[0].startswith("attend")
    if code == 2:
        command = lines[0].split(":")[0]
        assert lines[1:] == [f"Try `{command} --help`."]
    else:
        assert len(lines) == 1


@pytest.mark.parametrize("args, code, part", COMMAND_LINES)
def test_command_line(args, code, part):
    assert_refused(run(*args), code, part)


# The contents of a file, part of the sentence.
TEXTS = [
    ("", "is empty"),
    (" \n\t", "holds nothing but white space"),
    ("[]", "line 1, column 1"),
    ("null", "line 1, column 1"),
    ("{", "line 1, column 2"),
    ('{"x": [[1, 2], [3]]}', "x row 2 has 1 number, row 1 has 2"),
    ('{"x": [[NaN]]}', "found NaN"),
    ('{"x": [[nan]]}', "found nan"),
    ('{"x": [[Infinity]]}', "found Infinity"),
    ('{"x": [[1e999]]}', "1e999"),
    ('{"x": [[null]]}', "found null"),
    ('{"x": [["1"]]}', "expected a number in x row 1, found a string"),
    ('{"x": [[true]]}', "expected a number in x row 1"),
    ('{"x": 3}', "expected an array of rows"),
    ('{"x": [1, 2]}', "expected an array of numbers"),
    ('{"x": []}', "x has no rows"),
    ('{"x": [[]]}', "x has no columns"),
    ('{"x": [[1]], "x": [[1]]}', "given twice"),
    ('{"x": [[1]], "y": 1}', 'unknown key "y"'),
    ('{"x": [[1]], "heads": 0}', "heads is 0"),
    ('{"x": [[1]], "heads": 1.5}', "heads is 1.5"),
    ('{"x": [[1]], "heads": -1}', "heads is -1"),
    ('{"x": [[1, 2]], "heads": 1000000000}', "heads is 1000000000, which does not divide the 2 columns"),
    ('{"x": [[1, 2, 3]], "heads": 2}', "does not divide"),
    ('{"x": [[1]], "causal": 1}', "causal"),
    ('{"x": [[1]], "scale": "big"}', "scale"),
    ('{"x": [[1]], "positions": "sideways"}', "sideways"),
    ('{"x": [[1]], "tokens": ["a", "b"]}', "tokens has 2 labels, x has 1 row"),
    ('{"x": [[1]], "tokens": "a"}', "tokens"),
    ('{"x": [[1]], "tokens": [1]}', "tokens"),
    ('{"x": [[1]], "q": [[1]]}', "x and q are both given"),
    ('{"q": [[1]], "k": [[1]]}', "v is missing"),
    ('{"q": [[1]], "k": [[1, 2]], "v": [[1]]}', "k has 2 columns, q has 1"),
    ('{"q": [[1]], "k": [[1]], "v": [[1], [2]]}', "k has 1 row, v has 2"),
    ('{"x": [[1]], "wq": [[1]]}', "wk is missing"),
    ('{"x": [[1]], "wq": [[1], [2]], "wk": [[1]], "wv": [[1]]}', "wq has 2 rows, x has 1 column"),
    ('{"x": [[1]], "wo": [[1], [2]]}', "wo has 2 rows"),
    ('{"x": [[1]], "bq": [1]}', "bq needs wq"),
    ('{"tokens": ["a"]}', "there are no vectors"),
    ('{"x": [[1]]} trailing', "expected the end of the text"),
    ('{"x": [[1e300, 1e300]]}', "the scores overflow float64"),
    ('{"x": [[1]], "wq": [[1e308]], "wk": [[1e308]], "wv": [[1]]}', "the scores overflow float64"),
    ('{"x": [[1]], "wo": [[1e308]], "bo": [1e308]}', "the outputs overflow float64"),
    ('{"x": [[1]], "tokens": ["\\ud800"]}', "tokens"),
    ("{" * 100_000, "line 1"),
    ('{"x": ' + "[" * 100_000, "line 1"),
]


@pytest.mark.parametrize("text, part", TEXTS, ids=lambda value: value[:40])
@pytest.mark.parametrize("args", [(), ("--json",)], ids=["text", "json"])
def test_file(text, part, args):
    result = run("steps", "-", *args, stdin=text)
    assert_refused(result, 1, part)
    assert result.err.startswith("attend steps: standard input: ")


def test_bytes_that_are_no_text():
    assert_refused(run("steps", "-", stdin=b'{"tokens": ["\xff"], "x": [[1]]}'), 1, "UTF-8")


def test_more_tokens_than_can_be_written_out():
    assert_refused(run_lesson({"x": [[0.5]] * 5000}), 1, "5000")
    assert_refused(run_lesson({"x": [[0.5] * 60] * 600, "heads": 60}), 1, "60 x 600 x 600 weights are too many")
