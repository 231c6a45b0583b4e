import os

from . import _core

def save(figure: _core.FigureCore, path: str | os.PathLike[str], width: float, scale: float) -> list[str]: ...
