"""attend.ray on a real Ray of one machine: any number of workers, and one that is killed, leave the bytes of a single process."""

import json
import logging
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: make scale installs it")
ray = pytest.importorskip("ray", reason="Ray is not installed: make scale installs it")

import pyarrow.parquet  # noqa: E402

import attend
import attend.ray
from attend.batch import Embed, Explain, Generate, run

WORDS = "the bank of river money is , - .".split()
TEXTS = [" ".join(WORDS[(7 * i + j * j) % 9] for j in range(i % 13)) for i in range(400)]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=4, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same texts as lines, JSON and Parquet with row groups that are no multiple of a part."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "texts.txt").write_text("".join(text + "\n" for text in TEXTS))
    (folder / "texts.jsonl").write_text("".join(json.dumps({"id": i, "body": text}) + "\n" for i, text in enumerate(TEXTS)))
    table = pyarrow.table({"id": range(400), "body": TEXTS, "day": pyarrow.array([1] * 400, pyarrow.date32())})
    pyarrow.parquet.write_table(table, folder / "texts.parquet", row_group_size=70)
    return folder


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("kind", ["txt", "jsonl", "parquet", "list"])
def test_workers_leave_the_bytes_of_one_process(small_bert, files, tmp_path, kind, workers):
    source = TEXTS if kind == "list" else files / f"texts.{kind}"
    options = dict(part_texts=33, column="body", keep=["id", "day"] if kind == "parquet" else [])
    one = run(Embed(small_bert), source, tmp_path / "one", **options)
    several = attend.ray.run(Embed(small_bert), source, tmp_path / "several", workers=workers, **options)
    assert bytes_of(one.folder) == bytes_of(several.folder) and len(several.files) == 13
    table = pyarrow.parquet.read_table(several.folder)  # a folder of Parquet, as every reader takes it
    size = attend.TextModel.from_pretrained(small_bert).embedding_size
    assert table.schema.field("embedding").type == pyarrow.list_(pyarrow.float32(), size)
    assert table.column("index").to_pylist() == list(range(400)) and table.column("text").to_pylist() == TEXTS
    vectors = table.column("embedding").combine_chunks().flatten().to_numpy().reshape(400, size)
    np.testing.assert_array_equal(vectors, attend.TextModel.from_pretrained(small_bert).encode(TEXTS))
    if kind == "parquet":
        assert table.column("id").to_pylist() == list(range(400)) and table.schema.field("day").type == pyarrow.date32()


def actors():
    """The processes of Ray that make parts."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if name.startswith(b"ray::") and b"_Parts" in name:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("workers", [2, 4])
def test_a_killed_worker_loses_nothing_and_does_nothing_twice(small_bert, tmp_path, workers):
    texts, killed, seen = TEXTS * 10, [], []

    def kill_one(progress):
        seen.append(progress.texts)
        if progress.parts == 20:
            killed.extend(actors()[:1])
            os.kill(killed[0], signal.SIGKILL)

    options = dict(part_texts=40)
    run(Embed(small_bert), texts, tmp_path / "one", **options)
    attend.ray.run(Embed(small_bert), texts, tmp_path / "killed", workers=workers, progress=kill_one, **options)
    assert len(killed) == 1 and not Path(f"/proc/{killed[0]}").exists()
    assert seen == list(range(0, 4001, 40))  # each part is reported once
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "one")


def test_a_stopped_run_goes_on_with_either(small_bert, tmp_path):
    def stop(progress):
        if progress.parts == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attend.ray.run(Embed(small_bert), TEXTS, tmp_path / "out", part_texts=10, workers=2, progress=stop)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part-*")}
    done = run(Embed(small_bert), TEXTS, tmp_path / "out", part_texts=10)
    assert done.kept_parts >= 5 and all((tmp_path / "out" / name).stat().st_mtime_ns == time for name, time in before.items())
    run(Embed(small_bert), TEXTS, tmp_path / "one", part_texts=10)
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "one")
    with pytest.raises(ValueError, match="holds parts of another run, whose options is"):
        attend.ray.run(Embed(small_bert, layer=1), TEXTS, tmp_path / "out", part_texts=10)


def test_explain_and_generate(small_bert, counting, tmp_path):
    for name, job, texts in [
        ("explain", Explain(small_bert, top_k=2, tokens=True), TEXTS[:60]),
        ("generate", Generate(counting, max_tokens=5, temperature=1.0), ["w0 w1 w2", "w4 w5"] * 10),
    ]:
        one = run(job, texts, tmp_path / f"{name}1", part_texts=7)
        two = attend.ray.run(job, texts, tmp_path / f"{name}2", part_texts=7, workers=2)
        assert bytes_of(one.folder) == bytes_of(two.folder)
        table, expected = pyarrow.parquet.read_table(two.folder), job(texts)
        for column, values in expected.items():
            assert table.column(column).to_pylist() == values


@pytest.mark.parametrize("form", ["numpy", "pandas", "pyarrow"])
def test_batches_in_a_pipeline_of_ray_data(small_bert, files, form):
    data = ray.data.read_parquet(str(files / "texts.parquet")).map_batches(
        attend.ray.Batches, fn_constructor_args=(Embed(small_bert), "body"), concurrency=2, num_cpus=1, batch_size=50, batch_format=form
    )
    rows = sorted(data.take_all(), key=lambda row: row["id"])
    vectors = attend.TextModel.from_pretrained(small_bert).encode(TEXTS)
    np.testing.assert_array_equal(np.stack([np.asarray(row["embedding"], np.float32) for row in rows]), vectors)


def test_record_batches_as_sparks_map_in_arrow_has_them(small_bert):
    batch = pyarrow.record_batch({"id": range(400), "text": TEXTS})
    (found,) = Embed(small_bert).over()(iter([batch]))
    assert isinstance(found, pyarrow.RecordBatch) and found.schema.names == ["id", "text", "embedding"]
    vectors = attend.TextModel.from_pretrained(small_bert).encode(TEXTS)
    np.testing.assert_array_equal(found.column(2).flatten().to_numpy().reshape(vectors.shape), vectors)
    (lists,) = Explain(small_bert).over()(iter([pyarrow.table({"text": TEXTS[:5]})]))
    assert lists.column("units").to_pylist() == Explain(small_bert)(TEXTS[:5])["units"]


def test_what_goes_wrong_in_a_worker_is_said(small_bert, files, tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"text": ["the", None, "bank"]}), tmp_path / "null.parquet")
    for source, column, sentence in [
        (tmp_path / "null.parquet", "text", r'null.parquet: row 1: "text" is empty, expected a string'),
        (files / "texts.parquet", "text", 'has no column "text"; it has id, body, day'),
        (files / "texts.parquet", "id", 'row 0: "id" is of type int, expected a string'),
    ]:
        with pytest.raises(attend.FileError, match=sentence):
            attend.ray.run(Embed(small_bert), source, tmp_path / "out", column=column)
        shutil.rmtree(tmp_path / "out")
    with pytest.raises(attend.FileError, match="is not Parquet"):
        (tmp_path / "no.parquet").write_text("the bank")
        attend.ray.run(Embed(small_bert), tmp_path / "no.parquet", tmp_path / "out")
