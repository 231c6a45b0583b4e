"""The wheel in an environment that has nothing of the repository: the package, and the program that it carries."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A new environment with NumPy and the wheel that tools/wheel.sh has built, and a way to run something in it."""
    wheels = list((ROOT / "build/wheel").glob(f"attend-*-{'cp312-abi3' if sys.version_info >= (3, 12) else 'cp3%d' % sys.version_info.minor}*.whl"))
    assert len(wheels) == 1, f"tools/wheel.sh leaves one wheel for this Python in build/wheel, and there are {wheels}"
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    packages = Path(subprocess.run([folder / "venv/bin/python", "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True).stdout.strip())
    for name in ("numpy", "numpy.libs"):
        (packages / name).symlink_to(Path(numpy.__file__).parents[1] / name)
    pip = [sys.executable, "-m", "pip", "--python", folder / "venv/bin/python", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheels[0]], check=True)

    def run(*command, **options):
        environment = ["env", "-i", f"HOME={folder}", f"PATH={folder}/venv/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"]
        return subprocess.run([*environment, *command], cwd=folder, capture_output=True, text=True, timeout=60, **options)

    run.wheel = wheels[0]
    return run


def test_it_is_for_every_linux_of_its_age(installed):
    assert re.search(r"-manylinux_2_\d\d_(x86_64|aarch64)\.whl$", installed.wheel.name), installed.wheel.name


def test_the_program_runs(installed):
    version = installed("attend", "--version")
    assert version.returncode == 0 and re.fullmatch(r"attend \d+\.\d+\.\d+\n", version.stdout), version.stderr
    steps = installed("attend", "steps", "--color", "never")
    assert steps.returncode == 0 and "learning" in steps.stdout and not steps.stderr
    assert installed("python", "-m", "attend", "--version").stdout == version.stdout
    refused = installed("attend", "nonsense")
    assert refused.returncode == 2 and 'there is no command "nonsense"' in refused.stderr
    figure = installed("sh", "-c", "attend steps -o map.svg && head -c 4 map.svg; attend steps -o map.png")
    assert figure.returncode == 1 and figure.stdout == "<svg" and "without Cairo and Pango" in figure.stderr
    help_of_all = installed("attend")
    assert help_of_all.returncode == 0 and "serve" in help_of_all.stdout


def test_the_package_works(installed):
    code = "import attend, numpy as np; x = np.eye(4, dtype='f')[None, None]; print(attend.attention(x, x, x).shape, attend.__version__, attend.__file__)"
    done = installed("python", "-c", code)
    assert done.returncode == 0 and done.stdout.startswith("(1, 1, 4, 4) ") and str(ROOT) not in done.stdout, done.stderr


def test_nothing_of_the_repository_is_loaded_nor_of_what_a_system_may_lack(installed):
    code = "import attend; print(open('/proc/self/maps').read())"
    maps = {line.split()[-1] for line in installed("python", "-c", code).stdout.splitlines() if ".so" in line}
    ours = sorted(name for name in maps if "/attend/" in name)
    assert ours and not any(name.startswith(f"{ROOT}/build") or name.startswith(f"{ROOT}/python") for name in maps)
    linked = installed("sh", "-c", "ldd $(dirname $(python -c 'import attend_program; print(attend_program.__file__)'))/attend/bin/attend").stdout
    assert "not found" not in linked
    known = {"linux-vdso", "libstdc++", "libm", "libgcc_s", "libc", "ld-linux-x86-64", "ld-linux-aarch64"}
    for line in linked.splitlines():
        name, path = line.split()[0], line.split("=>")[-1].split("(")[0].strip()
        assert Path(name).name.split(".so")[0] in known or "/site-packages/attend" in os.path.normpath(path), line


def test_a_download_without_libcurl_says_what_is_missing(installed, tmp_path):
    """On a machine without libcurl: an empty folder is put over where it is, in a namespace of this test's own."""
    curl = [path for path in Path("/usr/lib").glob("*-linux-gnu/libcurl*.so.4*")]
    hide = " && ".join([f"mount --bind /dev/null {path}" for path in curl if not path.is_symlink()] + ["true"])
    done = installed("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"{hide} && HF_ENDPOINT=http://127.0.0.1:9 attend pull some/model")
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no namespaces here: {done.stderr.strip()}")
    assert done.returncode == 1 and "needs libcurl 7.85 or newer" in done.stderr, done.stderr
    reached = installed("env", "HF_ENDPOINT=http://127.0.0.1:9", "attend", "pull", "some/model")
    if curl:
        assert reached.returncode == 1 and "libcurl" not in reached.stderr, reached.stderr
