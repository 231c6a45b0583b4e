"""Writes tests/golden/text/lower_case.jsonl: texts, and what Python's str.lower() makes of them.

    python3 tools/golden/make_lower_case.py

One JSON list [text, lower] a line: every character that has another lower case, then random texts around the rule of the final sigma.
"""

import json
import random
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "tests/golden/text/lower_case.jsonl"
# Letters with and without case, ignorable characters of every kind, the ordinal signs, numerals and circles that count as cased.
ALPHABET = "ΣΣΣΣΑσςaZIİıß1 .:'’·-_,\u0301\u0345\u200d\u2060ªʰⅣⓐ🄰文א\u00ad^¨\u0307\n𐐀ǅ"


def main() -> None:
    random.seed(0)
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = ["".join(c for c in characters if c.lower() != c)]
    # How a sigma behind, or in front of, each kind of character is written decides what the character counts as.
    kinds = [c for c in characters if ("A" + c + "Σ").lower()[-1] == "ς"]
    texts += [" ".join("A" + c + "Σ" for c in kinds[i : i + 500]) for i in range(0, len(kinds), 500)]
    texts += ["".join(random.choices(ALPHABET, k=random.randint(1, 12))) for _ in range(500)]
    texts += ["ΟΔΥΣΣΕΥΣ", "ΣΑΣ", "Σ", "İSTANBUL", "", "DİYARBAKIR ΜΕΓΑΣ. ΣΟΦΌΣ"]
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text("".join(json.dumps([text, text.lower()], ensure_ascii=False) + "\n" for text in texts), encoding="utf-8")


main()
