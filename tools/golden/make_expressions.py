#!/usr/bin/env python3
"""Writes tests/golden/text/expressions.jsonl: what Oniguruma, by `tokenizers`, finds with expressions that others read differently.

README.md beside this file says how to run it. The first line has the texts. Then one expression a line: what becomes of each text
when every match is replaced by "‖", or the error. At the end characters one by one: how many of those in `characters()` match, and
a digest of which.
"""

import json
import pathlib

from tokenizers import Regex, normalizers, pre_tokenizers

TARGET = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "text" / "expressions.jsonl"

TEXTS = [
    "aaaaaaa", "aab", "ab c AB cC\n b\n", "\n", "a\n\nb", "éß ss SS ſ Kk K ﬁ fi ff st", "x_1 \t\v\f\r\n\x85\u2028\u3000.",
    "01 ٣ Ⅻ ½ ② ", "漢字、カナひら ー", "abcabc abab", "-]^[\\{2}#q]QE", "\u0301a\u0301 e\u0323 Ⓐⓐ", "aB1c2 3", "<|a|> 'S 're",
    "ʹͅ ι µ μ İ ı i I", "bbab aacc",
]  # fmt: skip

EXPRESSIONS = r"""
a{2,3}+ a{2,3}? a{2}? a{2}+ a{,2} a{2,} a{2,}+ a{,} a{} a{x} a{3,1} a{1,2}{2} a** a+* a?+ a*+a a++a a?? a*?b a+?+ a{1,3}?+
a{2}{3} a{1}?b (?:a?)* (a|b)*?c (?:a{1,2}){2} (?:a{1,2})+? a{0} a{0,0}b a{65536} x* (?:) (?:ab|(?=x)1){0} a+(?>(?:_b)?)a
a+(?:_b)?+a a+(?:_|b)*+a \t \n \v \f \r \a \e \h \H+ \R \X \K \G a\Kb \Z \z \A \Aa \y \N \O \N{U+41} \i \j \l \m \q \L \U
\Qa\E \cA \C-a \M-a \o{101} \x41 \x \x{} \xe9 \xe3\x81\x82 \x{6f22} \x{41\u002042} \x{d800} \u3042 \u12 \ud800 \0 \012 \01
\07 \08 \10 \< \> \' \` \_ \- \# \/ \@ \é $ ^ ^a b$ . (?m). (?m:.)+ (?s). ^* (*) | a||b a| |a () (|a)+ (a|)+ \pL \p{L}
\p{^L}+ \P{^L}+ \P{L}+ \p{Lu}+ \p{Letter}+ \p{uppercase-letter} \p{LC}+ \p{C} \p{Cn} \p{M} \p{Mn} \p{Han}+ \p{han} \p{Greek}+
\p{Script=Han} \p{sc:Han} \p{Alpha} \p{Any} \p{Common} \p{L&} \p{L \p{} \w+ \W+ \d+ \D+ \s+ \S+ \b \B \b\w \b+ [\w]+ [\W]+
[^\W]+ [^\S\n]+ [\s\S] [\D] [^\D] [\P{L}] [^\P{L}] [\h] [\R] [\1] [\Q] [\b] [\n] [\x41-\x43] [\x{4e00}-\x{9fff}]+ [一-龥]+
[a[bc]]+ [a[^bc]] [^a[bc]]+ [[a]b] [a[b]-c] [a-z&&[^aeiou]]+ [^a-z&&[^aeiou]]+ [a-c&&b-d] [a-z&&[b-y]&&[c-x]] [a&&] [&&a]
[^&&a] [a&&^b] [a&&&b] [&] [a&b] []a] [^]a] [] [a-] [-a] [a-c-e] [\w-] [\w-a] [a-\d] [\d-a] [+--] [--/] [a\-c]+ [\]] [\[] [.]
[*+?] [^^] [a^] [[:alpha:]]+ [[:^alpha:]] [ [a (?i)a (?i)ss (?i)s (?i)k (?i)ß (?i)[ß] (?i)[a-z]+ (?i)[^a-z]+ (?i)[k]
(?i)\p{Lu} (?i)[\p{Lu}] (?i)\w+ (?i)[\w]+ (?i)[\s\d]+ (?i)é (?i)i (?i)[i] (?i)’ (?i)中 (?i)µ (?i)s{2} (?i)s(?:s) (?i)(?:s)s
(?i)s+ (?i)f(?i)f (?i)st (?i)(?:as){2} (?i)(a)\1 (?i:'s|'t|'re|'ve|'m|'ll|'d) '(?i:[sdmt]|ll|ve|re) a(?i)b|c a(?i:b|c)
(a(?i)b|c) a(?i)b(?-i)c (?i)a(?-i:B) (?im)a. (?-i)a (?i-m:a) (?a)\w (?W)\w (?y{g})a (?#x)a a(?#x)+ (a)\1 (a)(b)\2 \1(a) (a\1)
(?<n>a)\k<n> (?<n>a)b (?<n>a)(b)\1 (a){0}(b)\2 (?P<n>a) (?'n'a) (?(1)a|b) (?|a|b) (?R) (?1) \g<1> (?~ab) (?{a}) (*FAIL)
(*UTF)a (*CRLF)a (?=a)a (?!a). (?<=a)b (?<!a)b (?<=a|bb)a (?<=a+)b (?<=(?:a|bb))a (?=a)*b (?<=a)+b (?>a+)b (?>a|ab)c *a + a|*
] } { {2} a{2 ) ( (? (?: \s+(?!\S)|\s+ \s*[\r\n]+|\s+(?!\S)|\s+ [^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
""".split()  # fmt: skip
EXPRESSIONS += [r" ?[^(\s|[.,!?…。，、।۔،])]+", r"\ ", "\\", "a\\", "(?x) a b # c", "(?x) a # c\n b", "(?x: a ) b", "(?x)a +"]
EXPRESSIONS += ["(?x)[ a]", r"(?x)a\ b", " {2,}"]

PROPERTIES = """
C Cc Cf Co L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs Arabic Armenian Bengali
Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hangul Han Hebrew Hiragana Kannada Katakana Khmer Lao Latin
Malayalam Mongolian Myanmar Sinhala Tamil Telugu Thai Tibetan
""".split()  # fmt: skip
CHARACTERS = [rf"\p{{{name}}}" for name in PROPERTIES]
CHARACTERS += [form.format(escape) for escape in "dswh" for form in (r"\{}", r"[\{}]", r"[^\{}]")]
CHARACTERS += [r"\P{Mn}", r"[\P{Mn}]", r"[^\P{Lu}]", ".", r"\R", r"(?i)[a-z]", r"(?i)[^k]", r"(?i)s", r"(?i)\w", r"(?i)\P{Ll}"]
CHARACTERS += [r"(?i)[^\s]"]

# Inside of large blocks, where one character is like the other.
LEFT_OUT = [(0x3500, 0x4D00), (0x4F00, 0x9F00), (0xAD00, 0xD700), (0xD800, 0xF800), (0x17100, 0x18700), (0x20100, 0x2A600),
            (0x2A800, 0x2EB00), (0x2ED00, 0x31200), (0x31500, 0x32300), (0x32500, 0xE0000), (0xE0200, 0x110000)]  # fmt: skip


def characters():
    return "".join(chr(c) for c in range(0x110000) if not any(first <= c < last for first, last in LEFT_OUT))


def digest(text):
    """FNV-1a of the code points, four bytes each."""
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-32-le"):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def found(expression):
    try:
        replace = normalizers.Replace(Regex(expression), "‖")
    except Exception as error:  # noqa: BLE001 - whatever it raises
        return {"regex": expression, "error": str(error)}
    return {"regex": expression, "replaced": [replace.normalize_str(text) for text in TEXTS]}


def matched(expression):
    pieces = pre_tokenizers.Split(Regex(expression), "removed", invert=True).pre_tokenize_str(characters())
    text = "".join(piece for piece, _ in pieces)
    return {"regex": expression, "characters": len(text), "digest": digest(text)}


def main():
    lines = [{"texts": TEXTS, "characters": len(characters())}, *map(found, EXPRESSIONS), *map(matched, CHARACTERS)]
    TARGET.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
