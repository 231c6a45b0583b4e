"""Figures as data: one description, shown in Jupyter, saved as SVG, PNG, PDF or HTML, printed in a terminal.

Every function makes a Figure of one part; figure() stacks several. Nothing but this package is needed, but for PNG and PDF, which take the
system's Cairo and Pango; saved figures load nothing from the network.
"""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _core

Scale = Literal["linear", "log2", "log10"]
Color = Literal["none", "256", "truecolor"]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body {{ margin: 1.5rem; background: #fff }} svg {{ display: block; max-width: 100%; height: auto; margin: auto }}</style>
</head>
<body>
{svg}</body>
</html>
"""


# In a dark notebook lightness is turned round and hues stay: the page is dark, and more weight is still further from it.
_SHOWN = """<div class="attend-figure" style="max-width: 100%; overflow-x: auto">
<style>
body[data-jp-theme-light="false"] .attend-figure svg, body.vscode-dark .attend-figure svg, html[theme="dark"] .attend-figure svg {{
  filter: invert(0.93) hue-rotate(180deg)
}}
</style>
{svg}</div>"""


class Figure:
    """A title, parts one below the other, and notes. Jupyter shows it by itself."""

    def __init__(self, core: _core.FigureCore) -> None:
        self._core = core

    def __repr__(self) -> str:
        return f"<attend.draw.Figure {self.title!r}>"

    def __str__(self) -> str:
        return self.text()

    @property
    def title(self) -> str:
        return self._core.title

    @property
    def notes(self) -> list[str]:
        """Sentences below the parts: what is shown, and what it does not mean."""
        return self._core.notes

    def svg(self, *, width: float = 800) -> str:
        """One <svg> element, at most `width` pixels wide: no ids, no scripts, nothing from elsewhere; the same bytes for the same figure."""
        return self._core.svg(width)

    def json(self, *, digits: int = 0) -> str:
        """The description itself. digits: significant ones of every number; 0: as many as read back the same double."""
        return self._core.json(digits)

    def text(self, *, width: int = 100, color: Color = "none") -> str:
        """The figure for a terminal of `width` columns."""
        return self._core.text(width, color)

    def html(self, *, width: float = 800) -> str:
        """A page of its own, with the SVG in it."""
        return _PAGE.format(title=html.escape(self.title or "attend"), svg=self.svg(width=width))

    def save(self, path: str | os.PathLike[str], *, width: float = 800, scale: float = 2) -> None:
        """Into a file, complete or not at all; its name chooses the format: .svg, .png, .pdf, .html, .json or .txt.

        scale: of a .png, pixels for each point. FileError if it cannot be written.
        """
        extension = os.path.splitext(os.fspath(path))[1].lower()
        if extension in (".png", ".pdf"):
            return _save_by_cairo(self._core, path, width, scale)
        if extension == ".svg":
            content = self.svg(width=width)
        elif extension in (".html", ".htm"):
            content = self.html(width=width)
        elif extension == ".json":
            content = self.json() + "\n"
        elif extension == ".txt":
            content = self.text()
        else:
            raise ValueError(
                f"save: expected a name that ends in .svg, .png, .pdf, .html, .json or .txt, not {os.path.basename(os.fspath(path))!r}"
            )
        _core.write_file(path, content)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return _SHOWN.format(svg=self.svg())


def _save_by_cairo(core: _core.FigureCore, path: str | os.PathLike[str], width: float, scale: float) -> None:
    try:
        from . import _cairo
    except ImportError as error:
        raise ImportError(f"save: .png and .pdf need Cairo and Pango, which could not be loaded ({error}); .svg needs neither") from error
    for note in _cairo.save(core, path, width, scale):
        warnings.warn(note, stacklevel=3)


class Page:
    """A page by itself, with its scripts and its numbers: it loads nothing. Jupyter shows it by itself."""

    def __init__(self, page: str, height: int) -> None:
        self._page, self._height = page, height

    def __repr__(self) -> str:
        return f"<attend.draw.Page of {len(self._page) / 1e6:.1f} MB>"

    def html(self) -> str:
        return self._page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Into a .html file, complete or not at all. FileError if it cannot be written."""
        if os.path.splitext(os.fspath(path))[1].lower() not in (".html", ".htm"):
            raise ValueError(f"save: expected a name that ends in .html, not {os.path.basename(os.fspath(path))!r}")
        _core.write_file(path, self._page)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self._page)}" sandbox="allow-scripts allow-downloads" title="attend" loading="lazy" '
            f'style="width: 100%; height: {self._height}px; border: 1px solid #8884; border-radius: 6px"></iframe>'
        )


def figure(*figures: Figure, title: str | None = None, notes: Iterable[str] = ()) -> Figure:
    """Figures one below the other. title: default, that of the first which has one. Notes that several have are written once."""
    return Figure(_core.draw_stacked([one._core for one in figures], title, list(notes)))


def heatmap(
    values: Any,
    row_labels: Iterable[str] | None = None,
    column_labels: Iterable[str] | None = None,
    *,
    title: str = "",
    row_title: str = "",
    column_title: str = "",
    value_label: str = "",
    mask: Any = None,
    low: float | None = None,
    high: float | None = None,
    focus_row: int | None = None,
) -> Figure:
    """A matrix, (rows, columns). mask: True = has a value. The colours go from 0, or the smallest value if it is below, to the largest."""
    cells = None if mask is None else np.asarray(mask, np.bool_, order="C")
    if cells is not None and cells.ndim != 2:
        _refuse_shape("heatmap", "mask", "(rows, columns)", cells)
    return Figure(
        _core.draw_heatmap(
            _numbers("heatmap", "values", values, 2, "(rows, columns)"),
            cells,
            list(row_labels or ()),
            list(column_labels or ()),
            title,
            row_title,
            column_title,
            value_label,
            low,
            high,
            focus_row,
        )
    )


def head_view(
    weights: Any,
    left: Sequence[str],
    right: Sequence[str] | None = None,
    *,
    title: str = "",
    left_title: str = "",
    right_title: str = "",
    heads: Iterable[str] = (),
    focus: int | None = None,
    strongest: int = 4,
) -> Figure:
    """Two columns of tokens, and lines from those that look to those that are looked at: weights (left, right), or (heads, left, right).

    heads: names of their colours. focus: a token on the left whose lines stand out. strongest: how many lines per token and head; 0: all.
    """
    given = np.asarray(weights)
    whole = _numbers("head_view", "weights", given[None] if given.ndim == 2 else given, 3, "(left, right) or (heads, left, right)")
    shown = list(left), list(left if right is None else right)
    return Figure(
        _core.draw_head_view(
            whole, *shown, list(heads), title, left_title, right_title, focus, strongest
        )
    )


def model_view(
    maps: Any,
    *,
    title: str = "",
    layer_labels: Iterable[str] | None = None,
    head_labels: Iterable[str] | None = None,
    high: float | None = None,
) -> Figure:
    """The maps of all heads of all layers, each small: (layers, heads, rows, columns), as TextModel.attention returns them.

    Layers and heads are labelled from 1. high: the end of the scale of all maps; default: each map's own largest.
    """
    whole = _numbers("model_view", "maps", maps, 4, "(layers, heads, rows, columns)")
    layers = range(1, whole.shape[0] + 1) if layer_labels is None else layer_labels
    heads = range(1, whole.shape[1] + 1) if head_labels is None else head_labels
    return Figure(_core.draw_model_view(whole, [str(one) for one in layers], [str(one) for one in heads], title, high))


def film_strip(
    maps: Iterable[Any],
    captions: Iterable[str] | None = None,
    *,
    title: str = "",
    value_label: str = "",
    low: float | None = None,
    high: float | None = None,
) -> Figure:
    """One map after the other on one scale, as of the layers of a model or the steps of a training: matrices, of any sizes."""
    frames = [_numbers("film_strip", "a map", one, 2, "(rows, columns)") for one in maps]
    return Figure(_core.draw_film_strip(frames, list(captions or ()), title, value_label, low, high))


def bars(
    values: Any,
    labels: Iterable[str],
    *,
    title: str = "",
    emphasised: Iterable[int] = (),
    full_length: float | None = None,
) -> Figure:
    """One value for each label, as in one row of attention. full_length: the value whose bar takes all the room; default: the largest."""
    numbers = _numbers("bars", "values", values, 1, "(values,)")
    return Figure(_core.draw_bars(numbers, list(labels), list(emphasised), title, 0.0 if full_length is None else full_length))


def plot(
    y: Any,
    x: Any = None,
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
) -> Figure:
    """Lines: y is one series of numbers, or a dictionary of several by name; x is shared by them (default: 0, 1, 2, ...), or such a dictionary."""
    series = y if isinstance(y, Mapping) else {"": y}
    heights = {name: _numbers("plot", "y", values, 1, "(points,)") for name, values in series.items()}
    if isinstance(x, Mapping) and set(x) != set(heights):
        raise ValueError("plot: x and y do not have the same names")
    places = []
    for name, values in heights.items():
        own = x[name] if isinstance(x, Mapping) else np.arange(len(values)) if x is None else x
        places.append(_numbers("plot", "x", own, 1, "(points,)"))
    return Figure(_core.draw_plot([str(name) for name in heights], places, list(heights.values()), title, x_label, y_label, x_scale, y_scale))


def _numbers(operation: str, name: str, values: Any, axes: int, shape: str) -> NDArray[np.float64]:
    if np.iscomplexobj(values):
        raise TypeError(f"{operation}: {name} holds complex numbers, expected real ones")
    numbers = np.asarray(values, np.float64, order="C")
    if numbers.ndim != axes:
        _refuse_shape(operation, name, shape, numbers)
    return numbers


def _refuse_shape(operation: str, name: str, expected: str, values: NDArray[Any]) -> NoReturn:
    raise ValueError(f"{operation}: expected {name} of shape {expected}, not {values.shape}")
