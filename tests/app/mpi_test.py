"""attend over the processes of an mpirun: vectors of texts that they read together, the benchmark, and what goes wrong."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from program import PROGRAM, environment, run

GOLDEN = Path(__file__).resolve().parents[1] / "golden/models/modernbert"
# More processes than cores, also as root in a container.
ANYWHERE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "ATTEND_THREADS": "1",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The golden ModernBERT with a vocabulary of words, and as many positions as one likes: they are rotary."""
    folder = tmp_path_factory.mktemp("modernbert")
    config = json.loads((GOLDEN / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 131072}))
    shutil.copy(GOLDEN / "model.safetensors", folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [f"w{i}" for i in range(len(words), config["vocab_size"])]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    return folder


@pytest.fixture(scope="module", autouse=True)
def needs_mpi():
    result = run("bench", "ring", "--quick", env=ANYWHERE)
    if "built without MPI" in result.err:
        assert result.code == 1
        pytest.skip("this attend was built without MPI")
    assert result.code == 0, result.err
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")


def mpirun(processes, *arguments, variables={}):
    command = ["mpirun", "-n", str(processes), PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(ANYWHERE | variables), timeout=60)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    file = tmp_path_factory.mktemp("texts") / "texts.txt"
    words = [f"w{5 + (11 * i + i // 7) % 40}" for i in range(900)]
    file.write_text("\n".join([" ".join(words), "", "w7 w9", " ".join(words[:30])]) + "\n")
    return file


@pytest.mark.parametrize("way", ["gathered", "heads", "ring"])
def test_vectors_are_those_of_one_process(model, texts, tmp_path, way):
    alone = run("embed", str(texts), "-m", str(model), "--pool", "mean", "-o", str(tmp_path / "alone.npy"))
    assert (alone.code, alone.err) == (0, "")
    result = mpirun(3, "embed", texts, "--mpi", "--way", way, "-m", model, "--pool", "mean", "-o", tmp_path / "spread.npy")
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    one, several = np.load(tmp_path / "alone.npy"), np.load(tmp_path / "spread.npy")
    assert one.shape == (4, 16) and np.abs(one - several).max() < 1e-5
    assert way == "ring" or (tmp_path / "alone.npy").read_bytes() == (tmp_path / "spread.npy").read_bytes()


def test_the_first_process_prints(model):
    lines = "w7 w8 w9\nw10\n"
    alone = run("embed", "-", "-m", str(model), stdin=lines)
    command = ["mpirun", "-n", "2", PROGRAM, "embed", "-", "--mpi", "-m", str(model)]
    result = subprocess.run(command, input=lines, capture_output=True, text=True, env=environment(ANYWHERE), timeout=60)
    assert (result.returncode, result.stdout) == (0, alone.out)


def test_divided_texts(model, texts):
    """Pieces of a text are read together, too, and their mean is one process's."""
    arguments = ["embed", str(texts), "-m", str(model), "--max-tokens", "100", "--on-overflow", "split"]
    assert mpirun(2, *arguments, "--mpi").stdout == run(*arguments).out


def test_no_colours_in_a_pipe():
    result = mpirun(2, "bench", "ring", "--quick", variables={"TERM": "xterm-256color"})
    assert result.returncode == 0 and "ring" in result.stdout and "\x1b" not in result.stdout, result.stdout


def test_the_benchmark_counts_what_it_sends():
    result = mpirun(2, "bench", "ring", "--quick", "--json")
    assert result.returncode == 0, result.stderr
    records = {record["case"]: record for record in json.loads(result.stdout)}
    assert set(records) == {f"{way} {way_back}" for way in ("one process", "ring", "gathered", "heads") for way_back in ("fwd", "bwd")}
    for case, record in records.items():
        if case.startswith("one process"):
            continue
        assert record["processes"] == 2
        assert abs(record["bytes_sent"] / record["bytes_predicted"] - 1) < 0.01, case
        assert record["max_error"] == 0 if not case.startswith("ring") else record["max_error"] < 1e-4


def test_a_failure_ends_all_with_one_sentence(model, tmp_path):
    result = mpirun(3, "embed", tmp_path / "absent.txt", "--mpi", "-m", model)
    assert result.returncode == 1
    assert result.stderr.count("absent.txt") == 1
    result = mpirun(3, "embed", "-", "--mpi", "-m", tmp_path / "absent")
    assert result.returncode == 1
    assert result.stderr.count("attend embed:") == 1


def test_what_does_not_go_together(model):
    for arguments, sentence in {
        ("--mpi", "--tokens"): "--mpi is for one vector per text",
        ("--way", "ring"): "--way requires --mpi",
        ("--mpi", "--way", "up"): "--way",
    }.items():
        result = run("embed", "-", "-m", str(model), *arguments, stdin="w7\n", env=ANYWHERE)
        assert result.code == 2 and sentence in result.err
