#!/usr/bin/env python3
"""Writes tests/golden/tokenizers: small tokenizers and what `tokenizers` answers to a few texts.

README.md beside this file says how to run it.
"""

import json
import pathlib

from tokenizer_zoo import SENTENCES, zoo

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "tokenizers"


def answer(tokenizer, *texts):
    try:
        encoding = tokenizer.encode(*texts)
    except Exception as error:  # noqa: BLE001 - whatever it raises, we must refuse too
        return {"texts": texts, "error": str(error)}
    return {
        "texts": texts,
        "ids": encoding.ids,
        "types": encoding.type_ids,
        "words": [-1 if word is None else word for word in encoding.word_ids],
        "spans": [place for span in encoding.offsets for place in span],
        "special": encoding.special_tokens_mask,
        "decoded": [tokenizer.decode(encoding.ids, skip_special_tokens=skip) for skip in (False, True)],
    }


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, tokenizer in zoo():
        (FOLDER / f"{name}.json").write_text(tokenizer.to_str(), encoding="utf-8")
        answers = [answer(tokenizer, text) for text in SENTENCES]
        answers += [answer(tokenizer, SENTENCES[i], SENTENCES[j]) for i, j in ((0, 4), (4, 0), (6, 13), (28, 0), (1, 28))]
        lines = "\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in answers)
        (FOLDER / f"{name}.answers.jsonl").write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
