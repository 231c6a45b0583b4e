"""attend.batch on small models: parts, processes and formats change nothing in the numbers, and a run that was stopped goes on."""

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas
import pytest

import attend
from attend.batch import Embed, Explain, Generate, run

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("ATTEND", "build/release/attend")

TEXTS = ["the bank of the river", "", "money is the bank", "w20 w21 w22 nowhere", "the river, the bank"] * 5 + ["money"]


def files_of(folder):
    """What a folder holds, with the time at which each file was written."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def vectors_of(done):
    return np.concatenate([np.load(file) for file in done.files])


def test_parts_in_any_number_of_processes_are_one_calls_vectors(small_bert, tmp_path):
    expected = attend.TextModel.from_pretrained(small_bert).encode(TEXTS)
    seen = []
    first = run(Embed(small_bert), TEXTS, tmp_path / "one", format="npy", part_texts=4, progress=seen.append)
    np.testing.assert_array_equal(vectors_of(first), expected)
    assert [file.name for file in first.files] == [f"part-0000{i}.npy" for i in range(7)] and first.texts == 26
    assert [(p.texts, p.parts) for p in seen] == [(0, 0)] + [(min(4 * i, 26), i) for i in range(1, 8)] and seen[0].all_texts == 26
    run(Embed(small_bert), TEXTS, tmp_path / "two", format="npy", part_texts=4, workers=2, threads=1)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


def test_files_of_lines_are_read_as_the_program_reads_them(small_bert, tmp_path):
    lines = "\ufeffthe bank\r\n\nof the river\r\nw20\rw21\nmoney \ufffd is".encode() + b" \xff\xe2\x82 the\n" + b"the river " * 430_000 + b"\nthe bank"
    (tmp_path / "texts.txt").write_bytes(lines)
    subprocess.run([PROGRAM, "embed", "texts.txt", "-m", small_bert, "-o", "whole.npy"], cwd=tmp_path, check=True, capture_output=True)
    for part_texts in (1, 3, 100):
        done = run(Embed(small_bert), tmp_path / "texts.txt", tmp_path / f"by{part_texts}", format="npy", part_texts=part_texts)
        np.testing.assert_array_equal(vectors_of(done), np.load(tmp_path / "whole.npy"))
        assert len(done.files) == -(-7 // part_texts)


def test_jsonl_in_and_out(small_bert, tmp_path):
    entries = [{"id": i, "body": text, "more": [i]} for i, text in enumerate(TEXTS)]
    (tmp_path / "one.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries[:9]) + '"a string is a text"')
    (tmp_path / "two.jsonl").write_text("\n".join(map(json.dumps, entries[9:])))
    done = run(
        Embed(small_bert), [tmp_path / "one.jsonl", tmp_path / "two.jsonl"], tmp_path / "out", format="jsonl", column="body", keep=["id"], part_texts=8
    )
    found = [json.loads(line) for file in done.files for line in file.read_text().splitlines()]
    texts = TEXTS[:9] + ["a string is a text"] + TEXTS[9:]
    assert [(f["index"], f["text"]) for f in found] == list(enumerate(texts)) and [f["id"] for f in found] == [*range(9), None, *range(9, 26)]
    vectors = attend.TextModel.from_pretrained(small_bert).encode(texts)
    np.testing.assert_array_equal(np.float32([f["embedding"] for f in found]), vectors)
    written = done.files[0].read_text().split('"embedding":[')[1].split("]")[0]
    assert max(map(len, written.split(","))) < 16  # as many digits as a float32 takes


def test_a_run_that_was_stopped_goes_on_with_what_is_missing(small_bert, tmp_path):
    options = dict(format="npy", part_texts=3)
    run(Embed(small_bert), TEXTS, tmp_path / "whole", **options)

    def stop(progress):
        if progress.parts == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Embed(small_bert), TEXTS, tmp_path / "stopped", **options, progress=stop)
    before = files_of(tmp_path / "stopped")
    assert 5 <= len(before) <= 6
    (tmp_path / "stopped/.part-00007.npy.machine.1").write_bytes(b"what a killed process left")
    done = run(Embed(small_bert), TEXTS, tmp_path / "stopped", **options)
    after = files_of(tmp_path / "stopped")
    assert done.kept_parts == len(before) - 1 and bytes_of(tmp_path / "stopped") == bytes_of(tmp_path / "whole")
    assert all(after[name] == before[name] for name in before)
    assert run(Embed(small_bert), TEXTS, tmp_path / "stopped", **options).kept_parts == 9
    assert files_of(tmp_path / "stopped") == after


def test_a_killed_process_is_replaced(small_bert, tmp_path):
    def kill_one(progress):
        if progress.parts == 5:
            children = [int(pid) for pid in subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True).stdout.split()]
            workers = [pid for pid in children if b"attend.batch._worker" in open(f"/proc/{pid}/cmdline", "rb").read()]
            assert len(workers) == 2
            os.kill(workers[0], signal.SIGKILL)

    texts = TEXTS
    run(Embed(small_bert), texts, tmp_path / "killed", format="npy", part_texts=1, workers=2, threads=1, progress=kill_one)
    run(Embed(small_bert), texts, tmp_path / "whole", format="npy", part_texts=1)
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "whole")


def test_a_process_that_always_dies_ends_the_run(small_bert, tmp_path):
    with pytest.raises(RuntimeError, match=r"three processes ended \(signal 9\) while they made part 0"):
        run(Dies(small_bert), ["the bank"], tmp_path / "out", format="jsonl")


class Dies(Embed):
    def _opened(self, model):
        return lambda texts: os.kill(os.getpid(), signal.SIGKILL) if texts != ["attend"] else {}


def test_parts_of_another_run_are_refused(small_bert, folder, tmp_path):
    out = tmp_path / "out"
    run(Embed(small_bert), TEXTS, out, format="npy", part_texts=4)
    before = files_of(out)
    (folder / "vocab.txt").write_text((folder / "vocab.txt").read_text().replace("bank", "shore"))
    for change, name in [
        (dict(job=Embed(small_bert, layer=1)), "options"),
        (dict(job=Embed(str(folder))), "options"),
        (dict(source=TEXTS[1:]), "input_digest"),
        (dict(part_texts=5), "part_texts"),
        (dict(format="jsonl"), "format"),
    ]:
        given = dict(job=Embed(small_bert), source=TEXTS, output=out, format="npy", part_texts=4) | change
        with pytest.raises(ValueError, match=f"holds parts of another run, whose {name} is .*; choose another folder"):
            run(**given)
    vocabulary = (small_bert / "vocab.txt").read_text()
    try:  # the same name, another model
        (small_bert / "vocab.txt").write_text(vocabulary.replace("bank", "shore"))
        with pytest.raises(ValueError, match="whose model_digest is"):
            run(Embed(small_bert), TEXTS, out, format="npy", part_texts=4)
    finally:
        (small_bert / "vocab.txt").write_text(vocabulary)
    assert files_of(out) == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other/letter.txt").touch()
    with pytest.raises(FileExistsError, match="is not empty, and has no _manifest.json"):
        run(Embed(small_bert), TEXTS, tmp_path / "other", format="npy")


def test_explain_is_what_the_lens_says(small_bert, tmp_path):
    job = Explain(small_bert, layer=2, head=3, top_k=2, special=False)
    done = run(job, TEXTS, tmp_path / "out", format="jsonl", part_texts=10, workers=2)
    found = [json.loads(line) for file in done.files for line in file.read_text().splitlines()]
    for text, entry in zip(TEXTS, found, strict=True):
        reading = attend.lens.read(small_bert, text)
        weights = reading.map("raw", 2, 3, special=False)
        assert entry["units"] == [word.text for word in reading.units(special=False)]
        assert [text[a:b] for a, b in zip(entry["begin"], entry["end"])] == entry["units"]
        np.testing.assert_allclose(entry["received"], weights.sum(axis=0), atol=1e-15)
        np.testing.assert_allclose(entry["entropy"], [-(row[row > 0] * np.log(row[row > 0])).sum() for row in weights], atol=1e-15)
        for row, keys, values in zip(weights, entry["top_keys"], entry["top_weights"], strict=True):
            np.testing.assert_array_equal(row[keys], values)
            assert len(keys) == min(2, len(row)) and sorted(row)[-len(keys) :] == values[::-1]
    tokens = Explain(small_bert, tokens=True)(["the river-bank"])
    assert tokens["units"] == [["[CLS]", "the", "river", "-", "bank", "[SEP]"]]
    np.testing.assert_allclose(sum(tokens["received"][0]), 6)


def test_long_texts_are_explained_row_by_row(small_bert, monkeypatch):
    text = ["the bank of the river, money is the bank - the river"]
    for options in (dict(special=False), dict(tokens=True), dict(layer=1, head=1, tokens=True, special=False)):
        job = Explain(small_bert, **options)
        model = job.load()
        whole = job._opened(model)(text)
        rows = np.concatenate([np.array(list(job._rows(attend.lens.read(model, text[0], only_layer=job.layer), 2000)))])
        np.testing.assert_allclose(rows.sum(axis=0), whole["received"][0], atol=1e-12)


def test_what_is_written_does_not_depend_on_what_was_written_before(counting, tmp_path):
    texts = ["w0 w1 w2", "w4 w5", "w7 w8 w0 w1 w2 w3", "w4 w5"] * 3
    job = Generate(counting, max_tokens=6, temperature=1.0, seed=3)
    done = run(job, texts, tmp_path / "out", format="jsonl", part_texts=5, workers=2)
    found = [json.loads(line) for file in done.files for line in file.read_text().splitlines()]
    for text, entry in zip(texts, found, strict=True):
        alone = attend.Generator(counting).generate(text, max_tokens=6, temperature=1.0, seed=3)
        assert (entry["text"], entry["generated"], entry["reason"]) == (text, alone.text, alone.reason)
        assert (entry["tokens"], entry["prompt_tokens"]) == (len(alone.tokens), alone.prompt_tokens)


def test_a_job_is_a_small_function_for_any_engine(small_bert):
    job = Embed(small_bert, pooling=["cls", "max"])
    expected = job(TEXTS)["embedding"]
    assert len(pickle.dumps(job)) < 1000 and pickle.loads(pickle.dumps(job)) == job
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        chunks = pool.map(job, [TEXTS[:13], TEXTS[13:]])
    np.testing.assert_array_equal(np.concatenate([chunk["embedding"] for chunk in chunks]), expected)

    frame = pandas.DataFrame({"id": range(26), "body": TEXTS}, index=range(5, 31))
    function = pickle.loads(pickle.dumps(job.over("body")))  # as Spark sends it
    (found,) = function(iter([frame]))
    assert list(found.columns) == ["id", "body", "embedding"] and list(found.index) == list(frame.index)
    np.testing.assert_array_equal(np.stack(found["embedding"]), expected)
    (batch,) = job.over()([{"text": np.array(TEXTS, object)}])
    np.testing.assert_array_equal(batch["embedding"], expected)


def test_mistakes(small_bert, tmp_path):
    texts, out = tmp_path / "texts.jsonl", tmp_path / "out"
    texts.write_text('{"text": "the bank"}\n{"text": 3}\n')
    (tmp_path / "broken.jsonl").write_text('{"text": "the bank"\n')
    for call, kind, sentence in [
        (lambda: run(Embed(small_bert), texts, out, format="jsonl"), attend.FileError, r'line 2: is neither a string nor an object with a string "text"'),
        (lambda: run(Embed(small_bert), tmp_path / "broken.jsonl", tmp_path / "b", format="npy"), attend.FileError, "line 1: is not JSON"),
        (lambda: run(Embed(small_bert), tmp_path / "nothing.txt", out, format="npy"), attend.FileError, "nothing.txt: cannot be opened: No such file"),
        (lambda: run(Embed(small_bert), ["the", None], out, format="npy"), TypeError, "text 1 is a NoneType, expected a string"),
        (lambda: run(Embed(small_bert), TEXTS, out, format="csv"), ValueError, 'format is "csv", expected parquet, npy or jsonl'),
        (lambda: run(Explain(small_bert), TEXTS, out, format="npy"), ValueError, "a .npy file holds one array"),
        (lambda: run(Embed(small_bert), TEXTS, out, format="npy", workers=0), ValueError, "workers is 0"),
        (lambda: run(Embed(small_bert), TEXTS, out, format="npy", part_texts=0), ValueError, "part_texts is 0"),
        (lambda: run(Embed(small_bert), TEXTS, out, format="npy", keep=["id"]), ValueError, "keep is for columns of Parquet in Parquet"),
        (lambda: run(Embed(small_bert), texts, out, format="jsonl", keep=["embedding"]), ValueError, "a column of the output already"),
        (lambda: run(Embed(small_bert, layer=3), TEXTS, out, format="npy"), ValueError, "layer is 3"),
        (lambda: Explain(small_bert, top_k=0), ValueError, "top_k is 0"),
        (lambda: Explain(small_bert, head=1), ValueError, "head is given without its layer"),
        (lambda: Generate(small_bert, system="Be brief."), ValueError, "takes chat=True"),
        (lambda: list(Embed(small_bert).over("body")([{"text": []}])), KeyError, 'no column \\\\?"body\\\\?"'),
    ]:
        with pytest.raises(kind, match=sentence):
            call()


def test_without_pyarrow_or_ray_one_sentence_says_so(small_bert, tmp_path):
    code = (
        "import sys; sys.modules.update({name: None for name in ('pyarrow', 'ray')})\n"
        "import attend, attend.batch\n"
        "for call in (lambda: attend.batch.run(attend.batch.Embed(sys.argv[1]), ['a'], 'out'), lambda: __import__('attend.ray')):\n"
        "    try: call()\n"
        "    except ImportError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", code, small_bert], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert printed == (
        "attend.batch needs pyarrow for Parquet and Arrow, and it is not installed (pip install pyarrow)\n"
        'attend.ray needs Ray Data, which is not installed (pip install "ray[data]")\n'
    )
    assert not (tmp_path / "out").exists()


def test_importing_attend_imports_neither_and_no_processes():
    code = "import sys, attend; print([n for n in ('ray', 'pyarrow', 'pandas', 'attend.batch', 'multiprocessing') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_a_process_whose_starter_is_killed_ends_itself(small_bert, tmp_path):
    code = (
        "import sys, time; from attend.batch import Embed, run\n"
        "def tell(p):\n"
        "    if p.parts == 1: print('working', flush=True); time.sleep(60)\n"
        "run(Embed(sys.argv[1]), ['the bank'] * 9, 'out', format='npy', part_texts=1, progress=tell)"
    )
    starter = subprocess.Popen([sys.executable, "-c", code, small_bert], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert starter.stdout.readline() == "working\n"
    worker = int(subprocess.run(["pgrep", "-P", str(starter.pid)], capture_output=True, text=True, check=True).stdout)
    starter.kill()
    starter.wait()
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{worker}") and open(f"/proc/{worker}/stat").read().split()[2] != "Z" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert time.monotonic() < deadline
