"""attend doctor on a small BERT: what it says about machine and model, parity with what transformers computed, and the cause of each difference."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import attend
from program import run

GOLDEN = Path(__file__).resolve().parents[1] / "golden/models/bert"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(5, 60)), "query", ":", "the", "bank"]
rng = np.random.default_rng(0)
TEXTS = [" ".join(f"w{i}" for i in rng.integers(5, 60, length)) for length in (4, 9, 1, 14, 30, 6)] + ["The Bank w7", "  w8 w9 "]


def small_model(folder, lower=True, **files):
    folder.mkdir(exist_ok=True)
    for name in ("config.json", "model.safetensors"):
        shutil.copy(GOLDEN / name, folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lower}))
    names = ("Transformer", "Pooling", "Normalize")
    modules = [{"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "", "type": f"sentence_transformers.models.{name}"} for i, name in enumerate(names)]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 20, "do_lower_case": False}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"search": "the bank "}}))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return small_model(tmp_path_factory.mktemp("doctor") / "model")


@pytest.fixture(scope="module")
def cased(tmp_path_factory):
    return small_model(tmp_path_factory.mktemp("doctor") / "cased", lower=False)


@pytest.fixture
def texts(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS) + "\n")
    return file


def doctor(model, *arguments, code=0, **how):
    done = run("doctor", "-m", str(model), *map(str, arguments), **how)
    assert done.code == code, done
    return done


def parity(model, texts, arrays, tmp_path, holds):
    """The parity section for a .npy or, given a dictionary, a .npz."""
    file = tmp_path / ("r.npz" if isinstance(arrays, dict) else "r.npy")
    np.savez(file, **arrays) if isinstance(arrays, dict) else np.save(file, arrays)
    done = doctor(model, "--reference", file, "--texts", texts, "--json", code=0 if holds else 1)
    assert done.err == ("" if holds else "attend doctor: the reference differs from what this model computes\n")
    found = json.loads(done.out)["parity"]
    assert found["holds"] == holds and found["texts"] == len(TEXTS)
    return found


def test_machine_settings_model_and_self_test(model):
    said = json.loads(doctor(model, "--json", env={"HF_TOKEN": "hf_secret", "ATTEND_THREADS": "2"}).out)
    machine = said["machine"]
    assert machine["attend"]["version"] == attend.__version__
    assert machine["isa"]["name"] == machine["isa"]["available"][0] == attend.isa() and "best" in machine["isa"]["why"]
    assert machine["threads"]["count"] == 2 and "ATTEND_THREADS" in machine["threads"]["why"]
    kernels = {(k["dtype"], k["queries"]): k["kernel"] for k in machine["kernels"]}
    assert kernels[("f32", 1)] == "decode" and kernels[("f32", 128)] == "fused" and kernels[("f64", 128)] == "reference"
    assert machine["memory"]["bytes"] > 0 and machine["cpu"]
    assert said["settings"]["variables"]["HF_TOKEN"] == "(set, not shown)"
    facts = said["model"]
    assert facts["family"]["name"] == "bert" and facts["layers"] == 2 and facts["heads"] == {"count": 4, "size": 8}
    assert facts["max_tokens"] == {"count": 20, "why": "20, sentence_bert_config.json says so"}
    assert facts["tokenizer"]["algorithm"] == "WordPiece" and facts["pooling"] == ["mean"] and facts["normalize"] is True
    assert facts["prompts"]["texts"] == {"search": "the bank "}
    parameters = facts["weights"]["parameters"]
    assert facts["weights"]["types"] == {"F32": parameters} and facts["weights"]["bytes"] == 4 * parameters > 0
    assert facts["folder"] == str(model)
    assert {"config.json", "model.safetensors", "vocab.txt", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json"} <= set(facts["files"])
    test = said["self_test"]
    assert test["passed"] and [one["isa"] for one in test["isas"]] == machine["isa"]["available"]
    assert all(one["same_bits"] and one["difference"] < 2e-5 and one["attention_error"] < 1e-5 for one in test["isas"])

    text = doctor(model, env={"HF_TOKEN": "hf_secret"}).out
    assert "hf_secret" not in text and "20, sentence_bert_config.json says so" in text and "Passed: the same bits" in text


def test_models_in_attends_own_folder_are_listed(model, tmp_path):
    own, cache = tmp_path / "own", tmp_path / "cache"
    shutil.copytree(model, own / "org/small")
    (cache / "models--other--model").mkdir(parents=True)
    variables = {"ATTEND_MODELS": str(own), "HF_HUB_CACHE": str(cache)}
    settings = json.loads(doctor("org/small", "--json", env=variables).out)["settings"]
    assert settings["own_models"] == {"folder": str(own), "models": ["org/small"]} and settings["cached_models"] == ["other/model"]
    assert f"own models      org/small, in {own}" in doctor("org/small", env=variables).out


def test_why_an_instruction_set_is_used(model):
    isas = json.loads(doctor(model, "--json").out)["machine"]["isa"]["available"]
    said = json.loads(doctor(model, "--json", env={"ATTEND_ISA": isas[-1]}).out)
    assert said["machine"]["isa"]["name"] == isas[-1] and "ATTEND_ISA" in said["machine"]["isa"]["why"]
    assert doctor(model, env={"ATTEND_ISA": "avx9"}, code=1).err.startswith('attend doctor: [ATTEND_ISA] there is no instruction set "avx9"')


def precisions(model, **how):
    said = json.loads(doctor(model, "--json", **how).out)["precisions"]
    assert said["texts"] >= 10 and said["tokens"] > said["texts"]
    assert [one["precision"] for one in said["errors"]] == ["bf16", "int8"]
    return {one["precision"]: one for one in said["errors"] if "why_not" not in one}


def test_what_each_precision_costs_an_encoder(model):
    for isa in attend.available_isas("bf16"):
        found = precisions(model, env={"ATTEND_ISA": isa})
        assert found["bf16"]["isa"] == isa
        for error in found.values():
            assert 0.99 < error["worst_cosine"] <= error["mean_cosine"] < 1 and 0 < error["distance"] < 0.1
    text = doctor(model).out
    assert "Precisions, beside f32" in text and "least cosine" in text


def test_what_each_precision_costs_a_model_that_writes(tmp_path):
    (tmp_path / "text.txt").write_text("the animal was tired. " * 200)
    sizes = ["data.length=64", "model.layers=2", "model.hidden=32", "model.heads=2", "model.inner=64", "training.steps=20", "training.batch=4"]
    done = run("train", "text", "-o", str(tmp_path / "model"), "--set", f"data.file={tmp_path / 'text.txt'}", *(part for key in sizes for part in ("--set", key)))
    assert done.code == 0, done.err
    for error in precisions(tmp_path / "model").values():
        assert 100 < error["places"] and 0 < error["mean_difference"] < error["largest_difference"] < 0.5
        assert abs(error["mean_shift"]) <= error["mean_difference"] and 0.9 < error["same_first"] <= 1
    assert "same first guess" in doctor(tmp_path / "model").out


def test_without_the_default_model(tmp_path):
    done = run("doctor", env={"HF_HUB_CACHE": str(tmp_path), "ATTEND_MODELS": str(tmp_path)})
    assert done.code == 0 and done.err == ""
    assert "attend pull sentence-transformers/all-MiniLM-L6-v2" in done.out and str(tmp_path) in done.out
    np.save(tmp_path / "r.npy", np.zeros((1, 384), np.float32))
    none = run("doctor", "--reference", str(tmp_path / "r.npy"), "--texts", "-", stdin="x\n",
               env={"HF_HUB_CACHE": str(tmp_path), "ATTEND_MODELS": str(tmp_path)})
    assert none.code == 1 and "there is no model to compare with" in none.err


def golden():
    """The ids, ends and states that transformers computed: tools/golden/make_models.py."""
    data = (GOLDEN / "golden.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    types = {"F64": np.float64, "I64": np.int64}
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[8 + size + begin : 8 + size + end], types[entry["dtype"]]).reshape(entry["shape"]).copy()
    return arrays


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The golden model with a tokenizer that adds nothing: w7 is id 7."""
    folder = tmp_path_factory.mktemp("doctor")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(GOLDEN / name, folder)
    vocab = {f"w{i}": i for i in range(64)}
    tokenizer = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"},
                 "post_processor": None, "decoder": None,
                 "model": {"type": "WordPiece", "unk_token": "w1", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


def golden_texts(arrays):
    return "".join(" ".join(f"w{i}" for i in arrays["ids"][a:b]) + "\n" for a, b in zip(arrays["ends"], arrays["ends"][1:]))


def test_hidden_states_of_transformers(plain, tmp_path):
    arrays = golden()
    done = doctor(plain, "--reference", GOLDEN / "golden.safetensors", "--texts", "-", "--json", stdin=golden_texts(arrays))
    found = json.loads(done.out)["parity"]
    assert found["ids"] == {"equal": True} and found["hidden_states"]["verdict"] == "within fp32 noise"
    assert [layer["layer"] for layer in found["hidden_states"]["layers"]] == [0, 1, 2] and found["hidden_states"]["first_difference"] is None
    assert doctor(plain, "--reference", GOLDEN / "golden.safetensors").out.endswith("Parity holds.\n")  # does not need texts

    token = arrays["ends"][2] + 3
    arrays["hidden.1"][token, 5] += 0.5
    arrays["hidden.2"][1] *= 1.5
    np.savez(tmp_path / "changed.npz", **arrays)
    done = doctor(plain, "--reference", tmp_path / "changed.npz", "--json", code=1)
    first = json.loads(done.out)["parity"]["hidden_states"]["first_difference"]
    assert (first["layer"], first["text"], first["token"], first["element"]) == (1, 2, 3, 5)
    assert first["token_text"] == f"w{arrays['ids'][token]}" and first["theirs"] - first["ours"] == pytest.approx(0.5, abs=1e-4)
    text = doctor(plain, "--reference", tmp_path / "changed.npz", code=1).out
    assert f'The first to differ is layer 1: text 2, token 3 “w{arrays["ids"][token]}”, element 5: here ' in text


def test_ids(model, texts, tmp_path):
    encoder = attend.TextModel.from_pretrained(model)

    def packed(ids):
        return {"ids": np.concatenate(ids).astype(np.int32), "ends": np.cumsum([0, *map(len, ids)])}

    ours = [encoder.tokenize(text).ids for text in TEXTS]
    assert parity(model, texts, packed(ours), tmp_path, True)["ids"] == {"equal": True}
    changed = [list(ids) for ids in ours]
    changed[3][2] = 17 if changed[3][2] != 17 else 18
    found = parity(model, texts, packed(changed), tmp_path, False)["ids"]
    assert (found["text"], found["token"], found["ours"], found["theirs"]) == (3, 2, ours[3][2], changed[3][2]) and found["conclusion"] == ""
    words = [" ".join(WORDS[i] for i in ids[1:-1]) for ids in changed]
    found = parity(model, texts, packed(changed) | {"embeddings": encoder.encode(words)}, tmp_path, False)
    assert found["conclusion"] == "With tokenization the reference's ids, all 8 texts agree: only its tokens differ."
    bare = [ids[1:-1] if len(ids) < 20 else encoder.tokenizer.encode(text, add_special_tokens=False).ids[:20] for ids, text in zip(ours, TEXTS)]
    found = parity(model, texts, packed(bare), tmp_path, False)["ids"]
    assert found["conclusion"] == "the reference was made without special tokens" and (found["text"], found["token"]) == (0, 0)
    longer = [encoder.tokenizer.encode(text).ids for text in TEXTS]
    found = parity(model, texts, packed(longer), tmp_path, False)["ids"]
    assert found["conclusion"] == "the reference used all 40 positions" and found["text"] == 4 and found["token"] == 19


def test_vectors_that_agree(model, texts, tmp_path):
    vectors = attend.TextModel.from_pretrained(model).encode(TEXTS)
    for given in (vectors, vectors.astype(np.float64), np.asfortranarray(vectors), {"embeddings": vectors}):
        found = parity(model, texts, given, tmp_path, True)
        assert found["verdict"] == "within fp32 noise" and found["embeddings"]["distance"] < 1e-6 and "causes" not in found
    for given in (vectors.astype(np.float16), vectors + rng.normal(size=vectors.shape).astype(np.float32) * 1e-4):
        assert parity(model, texts, given, tmp_path, True)["verdict"] == "within f16 noise"
    text = doctor(model, "--reference", tmp_path / "r.npy", "--texts", texts).out
    assert "Parity holds." in text and "verdict         within f16 noise" in text
    np.save(tmp_path / "one.npy", vectors[0])
    doctor(model, "--reference", tmp_path / "one.npy", "--texts", "-", "--jsonl", stdin=json.dumps({"text": TEXTS[0]}))


def bfloat16(x):
    return (((x.view(np.uint32) + 0x8000) >> 16) << 16).view(np.float32)


CAUSES = {
    "pooling cls": (lambda m: m.encode(TEXTS, pooling="cls"), "With pooling cls, all 8 texts agree: the reference was pooled with cls."),
    "pooling max": (lambda m: m.encode(TEXTS, pooling="max"), "the reference was pooled with max."),
    "not normalised": (lambda m: m.encode(TEXTS, normalize_embeddings=False), "the reference is not normalised."),
    "folder's prompt": (lambda m: m.encode(TEXTS, prompt_name="search"), 'the reference was made with the prompt "search".'),
    "usual prompt": (lambda m: m.encode(TEXTS, prompt="query: "), 'the reference was made with the prompt "query: ".'),
    "layer": (lambda m: m.encode(TEXTS, layer=1), "With layer 1, all 8 texts agree: the reference is of layer 1."),
    "embeddings": (lambda m: m.encode(TEXTS, layer=0), "the reference is of layer 0."),
    "order": (lambda m: m.encode(TEXTS)[::-1], "the rows of the reference are in another order; text 0 is its row 7."),
    "bf16": (lambda m: bfloat16(m.encode(TEXTS) * np.float32(1.01)), "the reference was stored or computed in bf16."),
    "two": (lambda m: m.encode(TEXTS, pooling="cls", normalize_embeddings=False), "the reference was pooled with cls, and the reference is not normalised"),
    "two of readings": (lambda m: m.encode(TEXTS, pooling="max", prompt="query: "), "the reference was pooled with max, and the reference was made with"),
    "scaled": (lambda m: m.encode(TEXTS) * 7, "All directions agree but the lengths do not"),
    "nothing usual": (lambda m: np.random.default_rng(1).normal(size=(8, 32)), "None of the usual causes explains it."),
}


@pytest.mark.parametrize("name", CAUSES)
def test_causes(model, texts, tmp_path, name):
    make, conclusion = CAUSES[name]
    found = parity(model, texts, make(attend.TextModel.from_pretrained(model)), tmp_path, False)
    assert conclusion in found["conclusion"], found["conclusion"]
    assert {trial["cause"] for trial in found["causes"]} == {"order", "normalisation", "pooling", "truncation", "tokenization", "prompt", "layer", "dtype"}


def test_lower_case_and_other_limits(cased, tmp_path, texts):
    encoder = attend.TextModel.from_pretrained(cased)
    lower = encoder.encode([text.lower() for text in TEXTS])
    assert "the reference lower-cased its texts" in parity(cased, texts, lower, tmp_path, False)["conclusion"]
    # The same folder with a limit of 40 is the reference for one with a limit of 20.
    wide = small_model(tmp_path / "wide", lower=False)
    (wide / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 40}))
    found = parity(cased, texts, attend.TextModel.from_pretrained(wide).encode(TEXTS), tmp_path, False)
    assert found["conclusion"] == "With truncation 40 tokens (every position), all 8 texts agree: the reference used all 40 positions."
    text = doctor(cased, "--reference", tmp_path / "r.npy", "--texts", texts, code=1).out
    assert found["conclusion"] in " ".join(text.split()) and "agrees" in text and "same tokens" in text


def bad_references(folder, vectors):
    def save(name, array):
        np.save(folder / name, array)
        return folder / name

    def write(name, data):
        (folder / name).write_bytes(data)
        return folder / name

    nan = vectors.copy()
    nan[2, 5] = np.nan
    np.savez(folder / "other.npz", arr_0=vectors)
    np.savez_compressed(folder / "compressed.npz", embeddings=vectors)
    np.savez(folder / "alone.npz", ids=np.arange(3))
    np.savez(folder / "ends.npz", ids=np.arange(3), ends=np.array([0, 9]))
    np.savez(folder / "vocabulary.npz", ids=np.array([5, 64]), ends=np.array([0, 0, 0, 0, 0, 0, 0, 0, 2]))
    np.savez(folder / "layer.npz", ids=np.array([5]), ends=np.array([0, 0, 0, 0, 0, 0, 0, 0, 1]), **{"hidden.3": np.zeros((1, 32))})
    np.savez(folder / "states.npz", ids=np.array([5]), ends=np.array([0, 0, 0, 0, 0, 0, 0, 0, 1]), **{"hidden.1": np.zeros((2, 32))})
    full = save("full.npy", vectors).read_bytes()
    return {
        "missing": (folder / "none.npy", "none.npy: cannot be read: No such file or directory"),
        "folder": (folder, "does not end in .npy, .npz or .safetensors"),
        "empty": (write("empty.npy", b""), "empty.npy: does not begin as a .npy file does"),
        "cut": (write("cut.npy", full[:-1]), "bytes of numbers, but its type and shape (8, 32) take 1024"),
        "objects": (save("objects.npy", np.array([None, 1], object)), "holds Python objects, which are never read"),
        "fewer rows": (save("fewer.npy", vectors[:5]), "fewer.npy: has 5 texts, but there are 8"),
        "more rows": (save("more.npy", np.tile(vectors, (2, 1))), "has 16 texts, but there are 8"),
        "columns": (save("columns.npy", vectors[:, :7]), "are of size 7, but the model's are of size 32"),
        "cube": (save("cube.npy", vectors[None]), "has shape (1, 8, 32), expected (texts, size)"),
        "whole numbers": (save("whole.npy", vectors.astype(np.int64)), "holds i64, expected floating-point numbers"),
        "nan": (save("nan.npy", nan), "row 2, column 5 is nan, expected finite numbers"),
        "other name": (folder / "other.npz", "has neither embeddings nor ids; it has arr_0"),
        "compressed": (folder / "compressed.npz", "is compressed"),
        "ids alone": (folder / "alone.npz", "ends: is missing; ids and ends go together"),
        "bad ends": (folder / "ends.npz", "must start at 0, never decrease, and end at the 3 ids"),
        "vocabulary": (folder / "vocabulary.npz", "go up to 64, but the model has vectors for 64"),
        "layer": (folder / "layer.npz", "hidden.3: is of a layer that the model does not have"),
        "states": (folder / "states.npz", "hidden.1: has 2 rows for 1 ids"),
        "safetensors": (write("bad.safetensors", b"\x02\0\0\0\0\0\0\0[]"), "does not begin with {"),
    }


def test_bad_references(model, texts, tmp_path):
    vectors = attend.TextModel.from_pretrained(model).encode(TEXTS)
    for name, (file, sentence) in bad_references(tmp_path, vectors).items():
        done = doctor(model, "--reference", file, "--texts", texts, code=1)
        assert done.out == "" and sentence in done.err and done.err.count("\n") == 1, (name, done)


def test_bad_command_lines(model, texts, tmp_path):
    np.save(tmp_path / "r.npy", attend.TextModel.from_pretrained(model).encode(TEXTS))
    for arguments, code, sentence in [
        (["--reference", tmp_path / "r.npy"], 2, "needs --texts"),
        (["--texts", texts], 2, "--texts requires --reference"),
        (["--reference", tmp_path / "r.npy", "--texts", tmp_path / "none.txt"], 1, "none.txt: cannot be opened"),
        (["--reference", tmp_path / "r.npy", "--texts", "-"], 1, "has 8 texts, but there are 0"),
        (["--reference"], 2, "--reference needs a value"),
        (["extra"], 2, "unexpected argument"),
    ]:
        done = doctor(model, *arguments, code=code)
        assert done.out == "" and sentence in done.err, done
    assert "there is no such folder" in doctor(tmp_path / "nothing", code=1).err
