"""attend models: what -m can name, what it is, and why attend does not read the rest; in caches that are made to harm, too."""

import json
import os
import shutil
import struct
import time

import pytest

from numpy_bert import read_safetensors
from program import ROOT, run

GGUF = ROOT / "tests/golden/gguf/models"


def write_config(folder, **config):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def places(tmp_path, small_bert, counting):
    """A hub's cache and attend's own folder, as HF_HUB_CACHE and ATTEND_MODELS."""
    hub, own = tmp_path / "hub", tmp_path / "own"
    commit = "0123456789abcdef0123456789abcdef01234567"
    bert = hub / "models--acme--bert-small"
    shutil.copytree(small_bert, bert / "snapshots" / commit)
    (bert / "blobs").mkdir()
    weights = bert / "snapshots" / commit / "model.safetensors"
    weights.rename(bert / "blobs/abc")  # as the hub's tools keep it: a link into blobs
    weights.symlink_to("../../blobs/abc")
    (bert / "refs").mkdir()
    (bert / "refs/main").write_text(commit)
    shutil.copytree(counting, hub / "models--counter/snapshots/v1")  # no branch: named by its revision
    (hub / "models--acme--unfinished/blobs").mkdir(parents=True)
    write_config(hub / "models--bigscience--bloom-560m/snapshots" / commit, model_type="bloom", n_layer=24)
    (hub / "models--bigscience--bloom-560m/refs").mkdir()
    (hub / "models--bigscience--bloom-560m/refs/main").write_text(commit + "\n")
    (hub / "datasets--acme--texts/snapshots").mkdir(parents=True)
    (hub / "version.txt").write_text("1")

    shutil.copytree(small_bert, own / "acme/second")
    shutil.copytree(small_bert, own / "acme/bert-small")  # whose name means the one in the cache
    (own / "acme/second/vocab.txt").unlink()
    config = json.loads((small_bert / "config.json").read_text())
    (write_config(own / "acme/old", **config) / "pytorch_model.bin").write_bytes(b"x")
    (write_config(own / "acme/torn", **config) / "model.safetensors").write_bytes(b"\xff" * 20)
    shutil.copy(GGUF / "bert.gguf", own)
    (hub / "models--acme--files/snapshots/v2").mkdir(parents=True)  # a repository of GGUF files
    for name in ("Q4", "Q8"):
        shutil.copy(GGUF / "qwen3.gguf", hub / f"models--acme--files/snapshots/v2/{name}.gguf")
    (own / "acme/one-file").mkdir()  # which goes by the name of its folder
    shutil.copy(GGUF / "qwen2.gguf", own / "acme/one-file")
    (own / "HuggingFaceTB/SmolLM2-135M-Instruct").mkdir(parents=True)  # and has a short name besides
    shutil.copy(GGUF / "llama.gguf", own / "HuggingFaceTB/SmolLM2-135M-Instruct")
    return {"HF_HUB_CACHE": str(hub), "ATTEND_MODELS": str(own)}


def listed(env, *arguments):
    done = run("models", *arguments, "--json", env=env)
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    return found, {model["name"]: model for model in found["models"]}


def test_what_can_be_named(places, small_bert):
    found, models = listed(places)
    assert found["places"] == [places["HF_HUB_CACHE"], places["ATTEND_MODELS"]] and found["notes"] == []
    bert = models["acme/bert-small"]
    assert bert["readable"] and bert["tokenizer"] and not bert["writes"]
    assert (bert["family"], bert["layers"], bert["heads"], bert["key_heads"]) == ("bert", 2, 4, 4)
    tensors = read_safetensors(small_bert / "model.safetensors")
    assert bert["parameters"] == sum(array.size for array in tensors.values() if array.dtype.kind == "f")
    assert bert["types"] == {"F32": bert["parameters"]}
    assert bert["bytes"] == sum(file.stat().st_size for file in small_bert.iterdir())
    gguf = models[f"{places['HF_HUB_CACHE']}/models--acme--files/snapshots/v2/Q4.gguf"]
    assert gguf["family"] == "qwen3" and gguf["writes"] and gguf["key_heads"] < gguf["heads"] and gguf["parameters"] > 1000
    assert models[f"{places['ATTEND_MODELS']}/bert.gguf"]["family"] == "bert"
    assert models["acme/one-file"]["family"] == "qwen2" and models["smollm2"]["family"] == "llama"
    assert models["counter@v1"]["readable"] and models["counter@v1"]["writes"]
    for name in [one["name"] for one in found["models"] if one["readable"]]:
        done = run("explain", "the bank", "-m", name, "--json", env=places)
        assert done.code == 0, (name, done.err)


def test_why_not(places):
    models = listed(places)[1]
    own = places["ATTEND_MODELS"]
    why = {
        "acme/unfinished": "its download has not finished",
        "bigscience/bloom-560m": "bloom is not a family that attend supports",
        "acme/second": "has no tokenizer that attend reads",
        "acme/old": "has its weights in pytorch_model.bin, a PyTorch file",
        "acme/torn": "model.safetensors: ",
    }
    for name, phrase in why.items():
        assert not models[name]["readable"] and models[name]["problem"].startswith(phrase), (name, models[name])
        assert len(models[name]["problem"].splitlines()) == 1
    assert models["bigscience/bloom-560m"]["family"] == "bloom" and models["acme/old"]["family"] == "bert"
    assert f"{own}/acme/bert-small" in models  # the path, since the name is taken
    text = run("models", env=places)
    assert text.code == 0 and text.err == ""
    assert "  bigscience/bloom-560m: bloom is not a family that attend supports\n" in text.out
    assert text.out.splitlines()[0].split() == ["family", "layers", "heads", "parameters", "numbers", "on", "disk", "it", "model"]
    (row,) = [line.split() for line in text.out.splitlines() if line.endswith(" acme/bert-small")]
    assert row[:3] == ["bert", "2", "4"] and row[4] == "F32"


def test_folders_that_are_given(tmp_path, small_bert, counting):
    shutil.copytree(small_bert, tmp_path / "a/b/bert")
    shutil.copytree(counting, tmp_path / "counting")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF")
    models = listed({}, str(tmp_path))[1]
    assert models[f"{tmp_path}/a/b/bert"]["readable"] and models[f"{tmp_path}/counting"]["readable"]
    assert not models[f"{tmp_path}/bad.gguf"]["readable"]
    assert set(listed({}, str(small_bert), str(counting))[1]) == {str(small_bert), str(counting)}
    assert list(listed({}, str(tmp_path / "bad.gguf"))[1]) == [f"{tmp_path}/bad.gguf"]
    done = run("models", str(tmp_path / "nowhere"))
    assert done.code == 1 and done.err == f"attend models: {tmp_path}/nowhere does not exist\n"


def test_nothing_there(tmp_path):
    env = {"HF_HUB_CACHE": str(tmp_path / "a"), "ATTEND_MODELS": str(tmp_path / "b")}
    assert listed(env)[0] == {"places": [], "models": [], "notes": []}
    done = run("models", env=env)
    assert done.out.startswith(f"There are no models in {tmp_path}/a or {tmp_path}/b; `attend pull ")


def test_families():
    done = run("models", "--families")
    assert done.code == 0 and "xlm-roberta" in done.out
    families = {one["family"]: one for one in json.loads(run("models", "--families", "--json").out)["families"]}
    assert families["gemma3"] == {"family": "gemma3", "model_types": ["gemma3_text", "gemma3"], "gguf_architectures": ["gemma3"]}
    assert run("models", "--families", ".").code == 2


def test_a_cache_made_to_harm(tmp_path, small_bert):
    hub, own = tmp_path / "hub", tmp_path / "own"
    for place in (hub, own):
        place.mkdir()
    commit = "0" * 40
    (hub / "models--a--circle").symlink_to("models--a--circle")
    (hub / "models--a--up").symlink_to("..")
    (hub / "models--a--dev").symlink_to("/dev")
    (own / "circle").symlink_to(".")
    (own / "x.gguf").symlink_to("/dev/zero")
    os.mkfifo(own / "pipe.gguf")
    deep = write_config(own / "deep/b/c/d", model_type="bert")  # deeper than ORG/NAME: not looked for
    evil = "models--a--\x1b[31m\u202e"
    (hub / evil / "snapshots").mkdir(parents=True)
    for name, refs in {"ref-up": "../../../..", "ref-long": "a" * 5000, "ref-none": "", "ref-dir": None}.items():
        folder = hub / f"models--a--{name}"
        (folder / "snapshots" / commit).mkdir(parents=True)
        (folder / "refs").mkdir()
        if refs is None:
            (folder / "refs/main").mkdir()
        else:
            (folder / "refs/main").write_text(refs)
    pipe = hub / "models--a--pipe/snapshots" / commit
    pipe.mkdir(parents=True)
    os.mkfifo(pipe / "config.json")
    out = write_config(hub / "models--a--out/snapshots" / commit, model_type="bert")
    (out / "model.safetensors").symlink_to("/etc/passwd")
    many = write_config(hub / "models--a--many/snapshots" / commit, model_type="x" * 100_000)
    nested = many / "config.json"
    nested.write_text("[" * 100_000)
    sparse = own / "acme/sparse"
    shutil.copytree(small_bert, sparse)
    with open(sparse / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", 2**62))
        file.truncate(2**40)
    start = time.monotonic()
    env = {"HF_HUB_CACHE": str(hub), "ATTEND_MODELS": str(own)}
    found, models = listed(env)
    assert time.monotonic() - start < 10
    assert not any(model["readable"] for model in models.values())
    assert models["a/pipe@" + commit]["problem"] and models["acme/sparse"]["problem"].startswith("model.safetensors: ")
    assert models["acme/sparse"]["bytes"] >= 2**40
    assert str(deep) not in models and not any("pipe.gguf" in name or "x.gguf" in name for name in models)
    assert all(len(model["problem"].splitlines()) == 1 and len(model["problem"]) < 1000 for model in models.values())
    text = run("models", env=env)
    assert text.code == 0 and "\x1b" not in text.out and "\u202e" not in text.out


def test_a_folder_without_end(tmp_path):
    for number in range(21_000):
        (tmp_path / f"f{number:05}").touch()
    found = listed({"HF_HUB_CACHE": str(tmp_path), "ATTEND_MODELS": str(tmp_path / "none")})[0]
    assert found["models"] == [] and found["notes"] == [f"{tmp_path}: has more than 20000 entries; only these were looked at."]
    (tmp_path / "file").write_text("")
    done = run("models", env={"HF_HUB_CACHE": str(tmp_path / "file"), "ATTEND_MODELS": str(tmp_path / "none")})
    assert done.code == 0 and len(done.out.splitlines()) >= 1
