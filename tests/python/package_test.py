"""What is installed: small, typed, without a dependency but NumPy, and the same version everywhere."""

import importlib.metadata
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import attend

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(attend.__file__).parent


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_version():
    version = re.search(r"project\(attend VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert attend.__version__ == version == importlib.metadata.version("attend")


def test_all_names_are_there_and_say_what_they_do():
    for name in attend.__all__:
        thing = getattr(attend, name)
        assert name == "__version__" or thing.__doc__, name
    public = {name for name in vars(attend) if not name.startswith("_")} - {"batch", "torch", "sklearn", "lens", "draw", "train"}
    assert public == set(attend.__all__) - {"__version__"}


def test_the_only_dependency_is_numpy():
    needed = [line for line in importlib.metadata.requires("attend") or [] if "extra ==" not in line]
    assert [re.match(r"[A-Za-z0-9_-]+", line).group(0) for line in needed] == ["numpy"]
    before, after = (set(run(f"{code}; import sys; print(' '.join(sys.modules))").split()) for code in ("import numpy", "import numpy, attend"))
    ours = {name for name in after - before if not name.startswith("attend")}
    assert not any(name.split(".")[0] not in sys.stdlib_module_names for name in ours), ours
    assert not {"torch", "ml_dtypes", "difflib", "inspect"} & ours


def test_it_is_small():
    files = [PACKAGE.parent / file for file in importlib.metadata.files("attend") if "__pycache__" not in file.parts]
    sizes = {file: len(zlib.compress(file.read_bytes())) for file in files}  # as in a wheel
    assert sum(sizes.values()) - sizes[PACKAGE / "bin/attend"] < 5_000_000
    assert sizes[PACKAGE / "bin/attend"] < 6_000_000
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_core.pyi").exists()


def test_no_library_but_those_of_every_system():
    (module,) = PACKAGE.glob("_core*.so")
    linked = subprocess.run(["readelf", "-d", str(module)], check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", linked))
    beside = {file.name for file in PACKAGE.glob("lib*.so*")}
    assert needed - beside <= {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    assert "$ORIGIN" in linked


TYPED = {
    "": "import attend, numpy as np, numpy.typing\nx = np.ones((1, 1, 2, 4), np.float32)\ny: np.typing.NDArray[np.float32] = attend.softmax(x)\n"
    "attend.attention(x, x, x, causal=True, window=(3, None), key_lengths=[2], sinks=np.zeros(1))\n"
    "attend.top_k(x, x, 3).keys\ncache = attend.KeyValueCache(1, 1, 4)\ncache.append(x, x)\nn: int = cache.length\n"
    "reading = attend.lens.read('name', 'text')\nword: str = reading.words[0].text\nattend.draw.heatmap(reading.map()).save('map.svg')\n"
    "run = attend.train.start(attend.train.Config(model={'layers': 2}), 'folder').fit([lambda report: report.loss > 0.1])\n"
    "share: float = run.evaluations[-1].accuracy\nmodel = attend.train.Model(vocabulary=9, length=4)\n"
    "norm: float = attend.train.AdamW(model, rate=attend.train.Schedule(1e-3, 10)).step()\n"
    "z: np.typing.NDArray[np.float32] = attend.linear(x, x)\nloss: float = attend.cross_entropy(x, [[[1, 2]]]).loss\n",
    'incompatible type "str"; expected "bool"': "import attend, numpy as np\nx = np.ones((2, 4))\nattend.attention(x, x, x, causal='yes')\n",
    'Unexpected keyword argument "casual"': "import attend, numpy as np\nx = np.ones((2, 4))\nattend.attention(x, x, x, casual=True)\n",
    'incompatible type "Literal[\'average\']"': "import attend\nattend.lens.read('name', 'text').map('average')\n",
    'incompatible type "Literal[\'coder\']"': "import attend\nattend.train.Model('coder', vocabulary=9, length=4)\n",
    'cannot be "list[int]"': "import attend\nattend.softmax([1, 2])\n",
}


@pytest.mark.parametrize("complaint", TYPED, ids=lambda text: text or "none")
def test_type_checkers_understand_it(complaint, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(TYPED[complaint])
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / "build/mypy"), str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (complaint in checked.stdout) if complaint else checked.returncode == 0, checked.stdout + checked.stderr


def test_the_package_itself_is_typed():
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / "build/mypy", "-p", "attend"],
        capture_output=True,
        text=True,
        cwd=ROOT / "build",
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
