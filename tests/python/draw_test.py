"""attend.draw: figures as data, as SVG that any reader of XML takes, as text and as files."""

import json
import re
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import attend
from attend import draw, lens

SVG = "{http://www.w3.org/2000/svg}"
LEFT_TO_RIGHT = "\u200e"  # ends a label in Arabic, so that what follows stays in its place; takes no column
TOKENS = ["the", "bank", "of", "<b>&\"'", "银行", "مصرف"]
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(6), size=6)


def texts_of(figure):
    root = xml.fromstring(figure.svg())
    assert root.tag == SVG + "svg" and float(root.get("width")) > 0
    return ["".join(one.itertext()).strip(LEFT_TO_RIGHT) for one in root.iter(SVG + "text")]


def part_of(figure):
    (part,) = json.loads(figure.json())["parts"]
    return part


FIGURES = {
    "heatmap": draw.heatmap(WEIGHTS, TOKENS, TOKENS, title="weights", row_title="query", column_title="key", focus_row=1),
    "head view": draw.head_view(WEIGHTS, TOKENS, title="weights", focus=1, strongest=2),
    "model view": draw.model_view(np.stack([[WEIGHTS] * 3] * 2), title="weights"),
    "bars": draw.bars(WEIGHTS[0], TOKENS, title="weights", emphasised=[2]),
    "plot": draw.plot({"a": [1, 2, 4], "b": [3, 2, 1]}, [1, 2, 3], title="weights", y_scale="log2"),
    "film strip": draw.film_strip([WEIGHTS, WEIGHTS[:3]], ["one", "two"], title="weights"),
}


@pytest.mark.parametrize("kind", FIGURES)
def test_every_kind_is_shown_everywhere(kind):
    figure = FIGURES[kind]
    part = part_of(figure)
    assert (part["kind"], part["title"]) == (kind, "weights")
    assert "weights" in texts_of(figure)
    assert figure.svg() == figure.svg() == figure._repr_svg_() and figure.svg() in figure._repr_html_() and figure.svg() in figure.html()
    for name in ("script", "http:", "https:", "url("):
        assert name not in figure.svg().replace("http://www.w3.org/2000/svg", "")
    for width in (40, 100):
        plain = figure.text(width=width)
        assert "weights" in plain and "\x1b[" not in plain
        assert all(len(line.replace(LEFT_TO_RIGHT, "")) <= width for line in plain.splitlines())
        assert "\x1b[" in figure.text(width=width, color="256") and "\x1b[" in figure.text(width=width, color="truecolor")
    assert str(figure) == figure.text()


def test_labels_and_values_arrive_as_they_are():
    figure = FIGURES["heatmap"]
    part = part_of(figure)
    assert part["row_labels"] == part["column_labels"] == TOKENS and part["focus_row"] == 1
    np.testing.assert_array_equal(part["values"], WEIGHTS)  # every bit
    assert set(TOKENS) <= set(texts_of(figure))
    part = part_of(draw.bars(WEIGHTS[0], TOKENS, emphasised=[2]))
    assert [bar["value"] for bar in part["bars"]] == list(WEIGHTS[0]) and [bar["label"] for bar in part["bars"]] == TOKENS
    part = part_of(FIGURES["plot"])
    assert [(one["name"], one["x"], one["y"]) for one in part["series"]] == [("a", [1, 2, 3], [1, 2, 4]), ("b", [1, 2, 3], [3, 2, 1])]
    assert part_of(draw.plot([5, 6]))["series"][0]["x"] == [0, 1]
    assert json.loads(draw.heatmap([[1 / 3]]).json(digits=2))["parts"][0]["values"] == [[0.33]]


def test_the_scale_starts_at_zero_and_a_masked_cell_has_no_value():
    def range_of(figure):
        return part_of(figure)["range"]

    assert range_of(draw.heatmap([[0.25, 0.5]])) == [0, 0.5]
    assert range_of(draw.heatmap([[-1, 0.5]])) == [-1, 0.5]
    assert range_of(draw.heatmap([[0.25, 0.5]], low=0.25, high=2)) == [0.25, 2]
    masked = draw.heatmap([[0.25, 9.0]], mask=[[True, False]])
    assert range_of(masked) == [0, 0.25] and part_of(masked)["values"] == [[0.25, None]]
    assert range_of(draw.film_strip([[[1.0]], [[3.0]]])) == [0, 3]


def test_lines_are_the_strongest_of_each_token():
    links = part_of(FIGURES["head view"])["links"]
    for token in range(6):
        best = np.argsort(-WEIGHTS[token])[:2]
        assert [(one["to"], one["weight"]) for one in links if one["from"] == token] == [(key, WEIGHTS[token, key]) for key in best]
    assert len(part_of(draw.head_view(WEIGHTS, TOKENS, strongest=0))["links"]) == 36
    heads = part_of(draw.head_view(np.stack([WEIGHTS, WEIGHTS.T]), TOKENS, TOKENS, heads=["first", "second"], strongest=1))
    assert heads["series"] == ["first", "second"] and {one.get("series", 0) for one in heads["links"]} == {0, 1}


def test_layers_count_from_one_and_heads_from_zero(small_bert):
    maps = attend.TextModel.from_pretrained(small_bert).attention("the bank of the river")
    part = part_of(draw.model_view(maps))
    assert (part["layer_labels"], part["head_labels"]) == (["1", "2"], ["1", "2", "3", "4"])
    wide = part_of(draw.model_view(np.ones((1, 1, 200, 200))))  # pooled: a thumbnail has no use for more
    assert len(json.dumps(wide)) < 64 * 64 * 10


def test_figures_stand_below_each_other():
    first = draw.figure(FIGURES["bars"], title="first", notes=["a note"])
    both = draw.figure(first, FIGURES["plot"], notes=["a note", "another"])
    shown = json.loads(both.json())
    assert [part["kind"] for part in shown["parts"]] == ["bars", "plot"]
    assert both.title == shown["title"] == "first" and both.notes == ["a note", "another"]
    assert draw.figure(first, title="mine").title == "mine" and draw.figure().title == ""


def test_files(tmp_path):
    figure = draw.figure(FIGURES["heatmap"], title="</title><script>&")
    for name, content in (("a.svg", figure.svg()), ("b.HTML", figure.html()), ("c.json", figure.json() + "\n"), ("d.txt", figure.text())):
        figure.save(tmp_path / name)
        assert (tmp_path / name).read_text() == content
    figure.save(str(tmp_path / "narrow.svg"), width=300)
    assert (tmp_path / "narrow.svg").read_text() == figure.svg(width=300) != figure.svg()
    page = figure.html()
    assert "<script" not in page and "<title>&lt;/title&gt;&lt;script&gt;&amp;</title>" in page
    assert not re.search(r'(src|href)="(?!data:)', page)
    with pytest.raises(ValueError, match=r"expected a name that ends in .svg, .png, .pdf, .html, .json or .txt, not 'a.gif'"):
        figure.save(tmp_path / "a.gif")
    with pytest.raises(attend.FileError, match="nowhere"):
        figure.save(tmp_path / "nowhere/a.svg")
    assert not (tmp_path / "nowhere").exists()


def test_pictures(tmp_path):
    figure = FIGURES["heatmap"]
    for name, start in (("a.png", b"\x89PNG"), ("b.PDF", b"%PDF-")):
        figure.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    figure.save(tmp_path / "large.png", scale=4)
    width = [int.from_bytes((tmp_path / name).read_bytes()[16:20], "big") for name in ("a.png", "large.png")]
    assert width[1] == pytest.approx(2 * width[0], abs=1)
    with pytest.raises(ValueError, match="a scale of 99"):
        figure.save(tmp_path / "b.png", scale=99)
    with pytest.raises(attend.FileError, match="nowhere"):
        figure.save(tmp_path / "nowhere/a.png")


def test_without_cairo_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "attend._cairo", None)
    monkeypatch.delattr(attend, "_cairo", raising=False)  # where a test before this one has loaded it
    with pytest.raises(ImportError, match=r"save: .png and .pdf need Cairo and Pango, .*; .svg needs neither"):
        FIGURES["heatmap"].save(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_a_dark_notebook_turns_lightness_round():
    shown = FIGURES["heatmap"]._repr_html_()
    assert 'data-jp-theme-light="false"' in shown and "vscode-dark" in shown and "invert(" in shown


@pytest.fixture(scope="module")
def reading(small_bert):
    return lens.read(small_bert, "The river-bank of the river, money.")


KINDS = {"map": "heatmap", "lines": "head view", "model": "model view", "film": "film strip"}


@pytest.mark.parametrize("view", KINDS)
@pytest.mark.parametrize("method", ["raw", "norm", "grad"])
def test_figures_of_a_reading(reading, view, method):
    gradients = reading.gradients_towards("money is the bank") if method == "grad" else None
    figure = reading.figure(view, method=method, gradients=gradients)
    shown = json.loads(figure.json())
    assert [part["kind"] for part in shown["parts"]] == [KINDS[view]]
    assert shown["title"] == reading.text and texts_of(figure)
    assert "not by themselves an explanation" in figure.notes[-1] and "--" not in " ".join(figure.notes)
    if (view, method) == ("map", "raw"):
        np.testing.assert_allclose(shown["parts"][0]["values"], reading.map(special=False), atol=1e-12)
        assert "are left out" in figure.notes[1] and "special=" not in figure.notes[1]
        one = part_of(reading.figure(special=True, layer=2, head=1))
        np.testing.assert_allclose(one["values"], reading.map(layer=2, head=1), atol=1e-12)


def test_a_focus_is_looked_at_closely(reading, small_bert):
    for focus in ("river-bank", 2):
        shown = json.loads(reading.figure(focus=focus, layer=1, top=3).json())["parts"]
        assert [part["kind"] for part in shown] == ["heatmap", "bars", "bars"] and shown[0]["focus_row"] == 1
        for part, method in zip(shown[1:], ("raw", "norm")):
            expected = sorted(reading.row("river-bank", method, 1, special=False), reverse=True)[:3]
            assert [bar["value"] for bar in part["bars"]] == pytest.approx(expected)
    flow = json.loads(reading.figure(method="flow", focus="money").json())["parts"]
    assert [part["kind"] for part in flow] == ["bars"] * 3
    token = json.loads(reading.figure(focus=4, tokens=True).json())["parts"][0]
    assert token["focus_row"] == 3 and token["row_labels"][3] == reading.tokens[4]
    twice = lens.read(small_bert, "the bank of the river")
    assert json.loads(twice.figure(focus=4).json())["parts"][0]["focus_row"] == 3  # the second "the"


def test_mistakes(reading):
    for call, kind, sentence in [
        (lambda: draw.heatmap([1, 2]), ValueError, r"expected values of shape \(rows, columns\), not \(2,\)"),
        (lambda: draw.heatmap([[1, 2]], ["a", "b"]), ValueError, "label"),
        (lambda: draw.heatmap([[1, 2]], mask=[[True]]), ValueError, r"mask has shape \(1, 1\)"),
        (lambda: draw.heatmap([[1, 2]], focus_row=-1), ValueError, "focus_row is -1"),
        (lambda: draw.heatmap([[1, 2]], focus_row=1), ValueError, "focus|row"),
        (lambda: draw.heatmap([["a"]]), ValueError, "could not convert"),
        (lambda: draw.head_view(WEIGHTS, TOKENS[:2]), ValueError, "labels"),
        (lambda: draw.head_view(WEIGHTS, TOKENS, focus=6), ValueError, "6"),
        (lambda: draw.model_view(WEIGHTS), ValueError, "expected maps of shape"),
        (lambda: draw.model_view(np.ones((1, 2, 3, 3)), head_labels=["a"]), ValueError, "label"),
        (lambda: draw.bars([1, 2], ["a"]), ValueError, "2 values and 1 labels"),
        (lambda: draw.bars([1], ["a"], emphasised=[1]), ValueError, "emphasised names bar 1, and there are 1"),
        (lambda: draw.plot([1, 2], [1]), ValueError, "x"),
        (lambda: draw.plot([1], x_scale="log"), ValueError, 'x_scale is "log", expected "linear", "log2" or "log10"'),
        (lambda: draw.film_strip([WEIGHTS], ["a", "b"]), ValueError, "1 maps and 2 captions"),
        (lambda: FIGURES["bars"].text(width=3), ValueError, "width is 3"),
        (lambda: FIGURES["bars"].text(color="red"), ValueError, 'color is "red"'),
        (lambda: FIGURES["bars"].svg(width=10), ValueError, "a page 10 wide"),
        (lambda: FIGURES["bars"].json(digits=-1), ValueError, "digits is -1"),
        (lambda: reading.figure("cube"), ValueError, 'view is "cube", expected map, lines, model or film'),
        (lambda: reading.figure("lines", method="flow", focus="money"), ValueError, "flow is for one word"),
        (lambda: reading.figure(method="flow"), ValueError, "one word at a time"),
        (lambda: reading.figure("model", method="rollout"), ValueError, "rollout follows paths"),
        (lambda: reading.figure(focus="gold"), ValueError, "gold"),
        (lambda: reading.figure(top=0), ValueError, "top is 0"),
    ]:
        with pytest.raises(kind, match=sentence):
            call()
