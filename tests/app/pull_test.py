"""attend pull, against a hub on this machine (hub_server.py)."""

import fcntl
import json
import os
import pathlib
import random
import struct

import pytest

from hub_server import COMMIT, Hub
from program import Result, run


def safetensors(floats: int) -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [floats], "data_offsets": [0, 4 * floats]}}).encode()
    return struct.pack("<Q", len(header)) + header + random.Random(floats).randbytes(4 * floats)


FILES = {
    "README.md": b"not needed",
    "config.json": b'{"model_type":"bert"}',
    "model.safetensors": safetensors(200_000),
    "model-00001-of-00002.safetensors": b"not needed beside the whole",
    "model.safetensors.index.json": b"nor is this",
    "pytorch_model.bin": b"never",
    "onnx/model.onnx": b"no",
    "onnx/config.json": b"no",
    "tokenizer.json": b"{}",
    "vocab.txt": b"[PAD]\n",
    "modules.json": b"[]",
    "1_Pooling/config.json": b'{"pooling_mode_mean_tokens":true}',
    "sentence_bert_config.json": b'{"max_seq_length":256}',
}
WANTED = {"config.json", "model.safetensors", "tokenizer.json", "vocab.txt", "modules.json", "1_Pooling/config.json",
          "sentence_bert_config.json"}
LARGE = "model.safetensors"


@pytest.fixture
def hub():
    with Hub(dict(FILES), {LARGE}) as server:
        yield server


def pull(hub: Hub, folder: pathlib.Path, name: str = "org/tiny", **more: str) -> Result:
    variables = {"HF_ENDPOINT": hub.endpoint, "HF_HUB_CACHE": str(folder), "HF_TOKEN": "", "HF_HUB_OFFLINE": "",
                 "HF_HOME": str(folder / "home"), "no_proxy": "*"}
    return run("pull", name, env=variables | more)


def refused(result: Result, part: str) -> None:
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("attend pull: ") and result.err.count("\n") == 1
    assert part in result.err


def snapshot(folder: pathlib.Path) -> pathlib.Path:
    return folder / "models--org--tiny" / "snapshots" / COMMIT


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    root = snapshot(folder)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def incomplete(folder: pathlib.Path) -> list[pathlib.Path]:
    return list((folder / "models--org--tiny" / "blobs").glob("*.incomplete"))


def test_brings_what_is_needed_into_the_standard_layout(hub, tmp_path):
    result = pull(hub, tmp_path)
    assert result == Result(0, f"{snapshot(tmp_path)}\n", "")
    assert contents(tmp_path) == {name: FILES[name] for name in WANTED}
    repository = tmp_path / "models--org--tiny"
    assert (repository / "refs" / "main").read_text() == COMMIT
    for name in WANTED:
        link = snapshot(tmp_path) / name
        assert link.is_symlink() and not os.path.isabs(os.readlink(link))
        assert link.resolve() == repository / "blobs" / hub.etag(name)
    assert {path.name for path in (repository / "blobs").iterdir()} == {hub.etag(name) for name in WANTED}


def test_a_second_time_downloads_nothing(hub, tmp_path):
    pull(hub, tmp_path)
    before = len(hub.requests)
    assert pull(hub, tmp_path).code == 0
    assert all(r.method == "HEAD" or r.path.startswith("/api/models/") for r in hub.requests[before:])


def test_a_revision_by_name(hub, tmp_path):
    assert pull(hub, tmp_path, "org/tiny@v1").code == 0
    assert (tmp_path / "models--org--tiny" / "refs" / "v1").read_text() == COMMIT


def test_the_token_goes_to_the_hub_alone(hub, tmp_path):
    hub.token = "secret"
    refused(pull(hub, tmp_path), "org/tiny: does not exist on the hub, or is private; for a private one set HF_TOKEN")
    assert pull(hub, tmp_path, HF_TOKEN="secret").code == 0
    assert {r.token for r in hub.requests if r.host == "cdn"} == {None}
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "token").write_text("secret\n")
    assert pull(hub, tmp_path).code == 0


def test_a_cut_connection_goes_on_where_it_was(hub, tmp_path):
    hub.cuts[LARGE] = [1000, 50_000, 0, 300_000]
    assert pull(hub, tmp_path).code == 0
    assert contents(tmp_path)[LARGE] == FILES[LARGE]
    ranges = [r.range for r in hub.downloads(LARGE) if r.host == "cdn"]
    assert ranges == [None, "bytes=1000-", "bytes=51000-", "bytes=51000-", "bytes=351000-"]


def test_progress_counts_and_not_the_number_of_cuts(hub, tmp_path):
    hub.cuts[LARGE] = [90_000] * 7
    assert pull(hub, tmp_path).code == 0
    assert contents(tmp_path)[LARGE] == FILES[LARGE]


def test_an_interrupted_download_goes_on_next_time(hub, tmp_path):
    hub.cuts[LARGE] = [1000] + [0] * 50
    refused(pull(hub, tmp_path), "the hub cannot be reached: ")
    assert [path.stat().st_size for path in incomplete(tmp_path)] == [1000]
    assert not (tmp_path / "models--org--tiny" / "refs" / "main").exists()
    hub.cuts.clear()
    assert pull(hub, tmp_path).code == 0
    assert hub.downloads(LARGE)[-1].range == "bytes=1000-"
    assert contents(tmp_path)[LARGE] == FILES[LARGE]
    assert incomplete(tmp_path) == []


def test_a_server_without_ranges(hub, tmp_path):
    hub.ranges = False
    hub.cuts[LARGE] = [1000]
    assert pull(hub, tmp_path).code == 0
    assert contents(tmp_path)[LARGE] == FILES[LARGE]


@pytest.mark.parametrize("name", [LARGE, "tokenizer.json"])
@pytest.mark.parametrize("served, part", [
    (lambda content: content[:-1], " bytes, but the hub announced "),
    (lambda content: content + b"x", "is longer than the "),
    (lambda content: content[:-1] + b"x", "was damaged in transit: its hash is "),
], ids=["short", "long", "damaged"])
def test_wrong_bytes_are_not_kept(hub, tmp_path, name, served, part):
    hub.served[name] = served(FILES[name])
    result = pull(hub, tmp_path)
    refused(result, part)
    assert f"org/tiny: {name}: " in result.err
    assert incomplete(tmp_path) == [] and name not in contents(tmp_path)
    assert not (tmp_path / "models--org--tiny" / "refs" / "main").exists()
    hub.served.clear()
    assert pull(hub, tmp_path).code == 0
    assert contents(tmp_path)[name] == FILES[name]


def test_leftovers_that_do_not_fit_are_thrown_away(hub, tmp_path):
    pull(hub, tmp_path)
    blob = tmp_path / "models--org--tiny" / "blobs" / hub.etag(LARGE)
    for leftover in [FILES[LARGE] + b"too long", b"x" * len(FILES[LARGE])]:
        blob.unlink()
        blob.with_name(blob.name + ".incomplete").write_bytes(leftover)
        if pull(hub, tmp_path).code != 0:  # the right length, but other bytes: reported once, then downloaded again
            assert pull(hub, tmp_path).code == 0
        assert blob.read_bytes() == FILES[LARGE]


def test_a_busy_hub_is_asked_again(hub, tmp_path):
    hub.failures = 3
    assert pull(hub, tmp_path).code == 0


@pytest.mark.parametrize("status, code, part", [
    (404, "RepoNotFound", "org/tiny: is not on the hub"),
    (404, "RevisionNotFound", "org/tiny: has no such revision on the hub"),
    (401, "RepoNotFound", "does not exist on the hub, or is private"),
    (403, "GatedRepo", "requires permission"),
    (418, None, "the hub answered 418"),
])
def test_refusals_of_the_hub(hub, tmp_path, status, code, part):
    hub.status, hub.error_code = status, code
    refused(pull(hub, tmp_path), part)
    assert len(hub.requests) == 1


def test_a_hub_in_trouble(hub, tmp_path):
    hub.status = 500
    refused(pull(hub, tmp_path), "the hub cannot be reached: the hub answered 500")
    assert len(hub.requests) == 5


def test_a_missing_file(hub, tmp_path):
    original = hub.etag
    hub.etag = lambda name: "" if name == "vocab.txt" else original(name)
    refused(pull(hub, tmp_path), "org/tiny: vocab.txt: the hub gives this file no etag")
    hub.etag = lambda name: "../../evil" if name == "vocab.txt" else original(name)
    refused(pull(hub, tmp_path), "org/tiny: vocab.txt: the hub gives this file no etag")


def test_names_that_leave_the_folder_are_not_downloaded(hub, tmp_path):
    hub.files |= {"../config.json": b"no", "/etc/config.json": b"no", "1_Pooling/../config.json": b"no", "a/b/config.json": b"no"}
    assert pull(hub, tmp_path).code == 0
    assert contents(tmp_path).keys() == WANTED


def test_several_files_of_weights_when_there_is_no_whole(hub, tmp_path):
    del hub.files[LARGE]
    assert pull(hub, tmp_path).code == 0
    assert {"model-00001-of-00002.safetensors", "model.safetensors.index.json"} <= contents(tmp_path).keys()


def test_a_model_without_safetensors(hub, tmp_path):
    hub.files = {"config.json": b"{}", "pytorch_model.bin": b"x"}
    refused(pull(hub, tmp_path), "org/tiny: has no safetensors files, the only format of weights that attend reads")
    assert not (tmp_path / "models--org--tiny").exists()


def test_offline(hub, tmp_path):
    refused(pull(hub, tmp_path, HF_HUB_OFFLINE="1"), "and HF_HUB_OFFLINE forbids downloading it")
    assert hub.requests == []
    pull(hub, tmp_path)
    before = len(hub.requests)
    assert pull(hub, tmp_path, HF_HUB_OFFLINE="1") == Result(0, f"{snapshot(tmp_path)}\n", "")
    assert len(hub.requests) == before


def test_a_model_that_is_there_is_found_without_the_hub(hub, tmp_path):
    pull(hub, tmp_path)
    hub.status = 503
    result = pull(hub, tmp_path)
    assert (result.code, result.out) == (0, f"{snapshot(tmp_path)}\n")
    assert result.err == ("org/tiny: the hub cannot be reached: the hub answered 503; this is the model that is on this machine already.\n")
    own = tmp_path / "own/org/tiny"
    own.mkdir(parents=True)
    elsewhere = {"HF_HUB_CACHE": str(tmp_path / "none"), "ATTEND_MODELS": str(tmp_path / "own"), "HF_HUB_OFFLINE": "1"}
    assert pull(hub, tmp_path, **elsewhere) == Result(0, f"{own}\n", "")
    refused(pull(hub, tmp_path, "org/other", **elsewhere), f"is neither in the hub's cache, {tmp_path}/none, nor in {tmp_path}/own")


def test_another_process_downloads_the_same(hub, tmp_path):
    blobs = tmp_path / "models--org--tiny" / "blobs"
    blobs.mkdir(parents=True)
    with open(blobs / (hub.etag(LARGE) + ".incomplete"), "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        refused(pull(hub, tmp_path), "is being downloaded by another process")


@pytest.mark.parametrize("name", ["../x", "a/b/c", "", "org/name@", "https://huggingface.co/org/name", "org/na me", "\x1b[2J"])
def test_names_that_are_none(hub, tmp_path, name):
    refused(pull(hub, tmp_path, name), "is not a valid name of a model on the hub")
    assert hub.requests == []


def test_settings_that_make_no_sense(hub, tmp_path):
    refused(pull(hub, tmp_path, HF_ENDPOINT="file:///etc"), "HF_ENDPOINT does not begin with https:// or http://")
    refused(pull(hub, tmp_path, HF_TOKEN="a\r\nX-Evil: 1"), "HF_TOKEN holds characters that are not valid in a token")


@pytest.mark.parametrize("answer", [b"", b"{}", b"[]", b"\xff", b'{"sha":"../../x","siblings":[]}', b'{"siblings":7}', b"{" * 1000])
def test_nonsense_from_the_hub(hub, tmp_path, answer, monkeypatch):
    monkeypatch.setattr(hub, "_answer", lambda handler, host: handler.answer(200, {}, answer))
    assert pull(hub, tmp_path).code == 1
    assert list(tmp_path.glob("models*")) == []
