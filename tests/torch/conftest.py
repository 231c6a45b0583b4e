"""The tests of attend.torch need PyTorch and transformers, which `make rivals` installs; without them they are left out."""

import importlib.util

_missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
collect_ignore_glob = ["*_test.py"] if _missing else []


def pytest_terminal_summary(terminalreporter):
    if _missing:
        terminalreporter.write_line(f"tests/torch left out: no {' and no '.join(_missing)} here; they run in `make rivals`")
