#!/usr/bin/env python3
"""Writes src/text/unicode_differences.h: where `tokenizers` decides otherwise about a character than utf8proc does.

`tokenizers` is built of crates with tables of Unicode 7 to 16; utf8proc 2.8 has Unicode 15, PCRE2 10.42 Unicode 14. This asks about
every code point and keeps the differences. Run it with Python 3.11, whose own tables are Unicode 14. README.md beside this file says how to run it. Takes two minutes.
"""

import ctypes
import pathlib
import unicodedata

import tokenizers
from tokenizer_zoo import sentencepiece_model
from tokenizers import Regex, normalizers, pre_tokenizers

TARGET = pathlib.Path(__file__).resolve().parents[2] / "src" / "text" / "unicode_differences.h"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]

utf8proc = ctypes.CDLL("libutf8proc.so.2")
utf8proc.utf8proc_category_string.restype = ctypes.c_char_p
utf8proc.utf8proc_tolower.restype = ctypes.c_int32
utf8proc.utf8proc_grapheme_break.restype = ctypes.c_bool
utf8proc.utf8proc_decompose_char.restype = ctypes.c_ssize_t
CATEGORY = {c: utf8proc.utf8proc_category_string(c).decode() for c in CODE_POINTS}


def in_category(*names):
    return {c for c in CODE_POINTS if CATEGORY[c] in names or CATEGORY[c][0] in names}


def splits(tokenizer, around="a", parts=3):
    """The characters that this pre-tokenizer cuts off from their neighbours."""
    return {c for c in CODE_POINTS if len(tokenizer.pre_tokenize_str(around + chr(c) + around)) == parts}


def disappears(normalizer, after=""):
    return {c for c in CODE_POINTS if normalizer.normalize_str("a" + chr(c) + after) == "a" + after}


def bert(**on):
    return normalizers.BertNormalizer(**{"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False, **on})


def ranges(code_points):
    found = []
    for c in sorted(code_points):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def regex(pattern):
    return splits(pre_tokenizers.Split(Regex(pattern), "isolated"), "\x01")


def properties():
    white = in_category("Z") | set(range(9, 14)) | {0x85}
    yield "White", splits(pre_tokenizers.WhitespaceSplit(), parts=2), white
    yield "Control", disappears(bert(clean_text=True), "a"), (in_category("Cc", "Cf", "Co") - {9, 10, 13}) | {0xFFFD}
    yield "Punctuation", splits(pre_tokenizers.Punctuation()), in_category("P") | {c for c in in_category("S") if c < 128}
    yield "Nonspacing", disappears(bert(strip_accents=True)), in_category("Mn")
    yield "Mark", disappears(normalizers.StripAccents()), in_category("M")
    yield "Numeric", splits(pre_tokenizers.Digits(True)), in_category("N")
    yield "Word", splits(pre_tokenizers.Whitespace(), parts=1), in_category("L", "M", "Nd", "Nl", "Pc") | {0x200C, 0x200D}
    yield "Letter", regex(r"\p{L}"), in_category("L")
    yield "Number", regex(r"\p{N}"), in_category("N")


def undecomposed():
    """Characters that NFKD leaves alone, and that utf8proc takes apart. Elsewhere the two agree."""
    buffer = (ctypes.c_int32 * 64)()
    found = set()
    for form, option in ((normalizers.NFD(), 1 << 4), (normalizers.NFKD(), 1 << 4 | 1 << 2)):
        for c in CODE_POINTS:
            size = utf8proc.utf8proc_decompose_char(c, buffer, 64, option | 1 << 1, None)
            theirs = form.normalize_str(chr(c))
            if theirs != "".join(map(chr, buffer[:size])):
                assert theirs == chr(c), hex(c)
                found.add(c)
    return found


def lowercase():
    """Runs (first, last, distance) of characters whose lower case utf8proc does not know."""
    lower = normalizers.Lowercase()
    runs = []
    for c in CODE_POINTS:
        theirs = lower.normalize_str(chr(c))
        if theirs == chr(utf8proc.utf8proc_tolower(c)):
            continue
        if c == 0x130:  # the only one that becomes two characters: in the code
            assert theirs == "i\u0307"
            continue
        distance = ord(theirs) - c
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == distance:
            runs[-1][1] = c
        else:
            runs.append([c, c, distance])
    return runs


def patterns():
    """Characters that an expression's \\p{..} matches there and that Unicode 14, which PCRE2 10.42 has, does not put in the category."""
    assert unicodedata.unidata_version == "14.0.0"
    for name in ("L", "Lu", "Ll", "Lm", "Lo", "M", "Mn", "Mc", "N", "Nd", "No", "P", "Po", "S", "So", "Sm", "Cf", "Pd"):
        theirs = regex(rf"\p{{{name}}}")
        yield name, ranges(c for c in theirs if not unicodedata.category(chr(c)).startswith(name))


def pcre2_matches(pattern):
    """The code points that PCRE2 matches one by one; asked for with an expression that PCRE2 alone understands."""
    pcre2 = ctypes.CDLL("libpcre2-8.so.0")
    for function in (pcre2.pcre2_compile_8, pcre2.pcre2_match_data_create_8):
        function.restype = ctypes.c_void_p
    utf, no_utf_check, expression = 0x00080000, 0x40000000, pattern.encode()
    error, place = ctypes.c_int(), ctypes.c_size_t()
    size, zero = ctypes.c_size_t(len(expression)), ctypes.c_size_t(0)
    code = ctypes.c_void_p(pcre2.pcre2_compile_8(expression, size, utf, ctypes.byref(error), ctypes.byref(place), None))
    assert code, pattern
    data = ctypes.c_void_p(pcre2.pcre2_match_data_create_8(1, None))

    def matches(text):
        return pcre2.pcre2_match_8(code, text, ctypes.c_size_t(len(text)), zero, no_utf_check, data, None) >= 0

    return {c for c in CODE_POINTS if matches(chr(c).encode())}


def scripts():
    """The same for scripts, which Oniguruma takes without, and PCRE2 with their extensions unless told otherwise."""
    for name in ("Arabic", "Cyrillic", "Devanagari", "Han", "Hiragana", "Kannada", "Katakana", "Lao", "Latin", "Myanmar"):
        yield name, ranges(regex(rf"\p{{{name}}}") - pcre2_matches(rf"\p{{sc:{name}}}"))


def graphemes():
    """How characters are grouped before sentencepiece's table is applied: shown by what becomes of a neighbour of "a" or of a mark."""
    proto = sentencepiece_model(600, 1000, {"a": "b", "\u0301": "d"})
    normalize = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap).normalize_str
    others = [c for c in CODE_POINTS if c not in (0x61, 0x301)]
    joined = {c for c in others if normalize("a" + chr(c)) == "b"}
    control = {c for c in others if normalize(chr(c) + "\u0301\u034d").endswith("d")}
    prepended = {c for c in others if normalize(chr(c) + "a\u034d").endswith("\u034d")}
    breaks = utf8proc.utf8proc_grapheme_break
    yield "Joins", joined, {c for c in others if not breaks(0x61, c)}
    yield "Breaks", control, {c for c in others if breaks(c, 0x301)}
    yield "Prepends", prepended, {c for c in others if not breaks(c, 0x61)}


def table(name, rows, kind):
    text = ", ".join("{" + ", ".join(f"0x{v:X}" if i < 2 else str(v) for i, v in enumerate(row)) + "}" for row in rows)
    return f"inline constexpr {kind} k{name}[] = {{{text}}};\n" if rows else f"inline constexpr std::array<{kind}, 0> k{name}{{}};\n"


def main():
    version = "".join(chr(b) for b in ctypes.cast(utf8proc.utf8proc_version, ctypes.CFUNCTYPE(ctypes.c_char_p))())
    lines = [
        f"// Where `tokenizers` {tokenizers.__version__} decides otherwise about a character than utf8proc {version} does.\n",
        "// Written by tools/golden/make_unicode_differences.py, which has asked both about every code point.\n",
        "#pragma once\n\n#include <array>\n#include <cstdint>\n\nnamespace attend::text::differences {\n\n",
        "struct Range {\n  char32_t first, last;\n};\nstruct Shift {\n  char32_t first, last;\n  std::int32_t distance;\n};\n\n",
    ]
    for name, theirs, ours in [*properties(), *graphemes()]:
        lines.append(f"// {name}: {len(theirs)} characters; {len(theirs - ours)} only there, {len(ours - theirs)} only here.\n")
        lines.append(table(f"{name}Added", ranges(theirs - ours), "Range"))
        lines.append(table(f"{name}Removed", ranges(ours - theirs), "Range"))
    lines.append("\n// Characters that the normal forms leave as they are.\n")
    lines.append(table("Undecomposed", ranges(undecomposed()), "Range"))
    lines.append("\n// Characters whose lower case lies at a distance.\n")
    lines.append(table("Lowercase", lowercase(), "Shift"))
    lines.append("\n// Characters that \\p{..} of an expression matches there, and that Unicode 14 did not have in the category.\n")
    for name, added in patterns():
        lines.append(table(f"Pattern{name}", added, "Range"))
    lines.append("\n// The same for scripts.\n")
    for name, added in scripts():
        lines.append(table(f"Script{name}", added, "Range"))
    lines.append("\n}  // namespace attend::text::differences\n")
    TARGET.write_text("".join(lines))


if __name__ == "__main__":
    main()
