// A table of bad texts: each gets the cause and the sentence it deserves.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "steps/refuses_lesson.h"
#include "steps/steps_file.h"

namespace attend::steps {
namespace {

using enum LessonCause;

struct BadLesson {
  std::string_view text;
  LessonCause cause;
  std::string_view sentence;  // part of it, after the name of the file
};

using namespace std::string_view_literals;

const BadLesson kBadLessons[] = {
    // Nothing there.
    {"", empty, "is empty"},
    {"\xEF\xBB\xBF", empty, "is empty"},
    {" \n\t\r\n", empty, "holds nothing but white space"},

    // Bytes that are not text.
    {"{\"x\": [[1]],\n\"tokens\": [\"\xFF\"]}", not_utf8, "line 2 is not UTF-8 text"},
    {"\xFF\xFE{\0}\0"sv, not_utf8, "line 1 is not UTF-8 text"},
    {"{\"tokens\": [\"\xC0\xAF\"]}", not_utf8, "line 1 is not UTF-8 text"},
    {"{\"tokens\": [\"\xED\xA0\x80\"]}", not_utf8, "line 1 is not UTF-8 text"},
    {"{\"tokens\": [\"\xC3", not_utf8, "line 1 is not UTF-8 text"},

    // Text that is not JSON.
    {"x", not_json, "line 1, column 1: expected an object in braces, found x"},
    {"\0"sv, not_json, "line 1, column 1: expected an object in braces, found \\x00"},
    {"]", not_json, "line 1, column 1: expected an object in braces, found ]"},
    {"}", not_json, "line 1, column 1: expected an object in braces, found }"},
    {"\"", not_json, "line 1, column 1: a string is never closed"},
    {"{", not_json, "line 1, column 2: expected a key in double quotes, found the end of the text"},
    {"{\n", not_json, "line 2, column 1: expected a key in double quotes, found the end of the text"},
    {"{\"x", not_json, "line 1, column 2: a string is never closed"},
    {"{\"x\\\"", not_json, "line 1, column 2: a string is never closed"},
    {"{\"x\\", not_json, "line 1, column 2: a string is never closed"},
    {"{\"x\"", not_json, "line 1, column 5: expected a colon, found the end of the text"},
    {"{\"x\":", not_json, "line 1, column 6: expected an array of rows in x, found the end of the text"},
    {"{\"x\": [", not_json, "column 8: expected an array of numbers in x row 1, found the end of the text"},
    {"{\"x\": [[1, ", not_json, "column 12: expected a number in x row 1, found the end of the text"},
    {"{\"x\": [[1, 2", not_json, "column 13: expected a comma or ] in x row 1, found the end of the text"},
    {"{\"x\": [[1, 2]", not_json, "column 14: expected a comma or ] in x, found the end of the text"},
    {"{\"x\": [[1, 2]]", not_json, "column 15: expected a comma or }, found the end of the text"},
    {"{\"heads\": 1", not_json, "column 12: expected a comma or }, found the end of the text"},
    {"{\"tokens\": [\"a, \"b\"],\n\"x\": [[1]]}", not_json,
     "line 1, column 19: a string is not closed on its line"},
    {R"({"tokens": ["a" b, "c"]})", not_json, "column 17: expected a comma or ] in tokens, found b"},
    {"{\"tokens\": [\"a],\n\"x\": [[1]]}", not_json, "line 1, column 13: a string is not closed on its line"},
    {"{\"tokens\": [\"a\\\n\"]}", not_json, "line 1, column 13: a string is not closed on its line"},
    {"{\"tokens\": [\"a\0\"]}"sv, not_json, "column 15: a string holds a bare control character, \\x00"},
    {"{\"tokens\": [\"\t\"]}", not_json, "column 14: a string holds a bare control character, \\x09"},
    {R"({"tokens": ["\q"]})", not_json, "column 13: a string in tokens has an escape that is not JSON"},
    {R"({"tokens": ["\ud800"]})", not_json, "column 13: a string in tokens has an escape that is not JSON"},
    {R"({"\u12": 1})", not_json, "column 2: a key has an escape that is not JSON"},
    {"{x: [[1]]}", not_json, "column 2: expected a key in double quotes, found x"},
    {"{'x': [[1]]}", not_json, "column 2: expected a key in double quotes, found 'x'"},
    {R"({"x" [[1]]})", not_json, "column 6: expected a colon, found an array"},
    {R"({"x": [[1]],})", not_json, "column 13: expected a key in double quotes, found }"},
    {R"({"x": [[1]] "heads": 1})", not_json, "column 13: expected a comma or }, found a string"},
    {R"({"positions": "none" "heads": 1})", not_json, "column 22: expected a comma or }, found a string"},
    {R"({"x": [[1]]]})", not_json, "column 12: expected a comma or }, found ]"},
    {R"({"x": [[1, 2,]]})", not_json, "column 14: expected a number in x row 1, found ]"},
    {R"({"x": [[1 2]]})", not_json, "column 11: expected a comma or ] in x row 1, found a number"},
    {R"({"x": [[1], [2}]})", not_json, "column 15: expected a comma or ] in x row 2, found }"},
    {R"({"x": [[1]]}})", not_json, "column 13: expected the end of the text, found }"},
    {R"({"x": [[1]]}])", not_json, "column 13: expected the end of the text, found ]"},
    {R"({"x": [[1]]} !])", not_json, "column 14: expected the end of the text, found !"},
    {R"({"x": [[1]]} {"x": [[1]]})", not_json, "column 14: expected the end of the text, found an object"},
    {"{\"x\": [[1]]}\0"sv, not_json, "column 13: expected the end of the text, found \\x00"},
    {"{\"x\": [[1]]} // note", not_json, "column 14: expected the end of the text, found //"},
    {"{\0\"x\": [[1]]}"sv, not_json, "column 2: expected a key in double quotes, found \\x00"},
    {R"({"x": [[NaN]]})", not_json, "column 9: expected a number in x row 1, found NaN"},
    {R"({"x": [[Infinity]]})", not_json, "column 9: expected a number in x row 1, found Infinity"},
    {R"({"x": [[-Infinity]]})", not_json, "column 9: expected a number in x row 1, found -Infinity"},
    {R"({"x": [[nan, inf]]})", not_json, "column 9: expected a number in x row 1, found nan"},
    {R"({"x": [[+1]]})", not_json, "column 9: expected a number in x row 1, found +1"},
    {R"({"x": [[.5]]})", not_json, "column 9: expected a number in x row 1, found .5"},
    {R"({"x": [[5.]]})", not_json, "column 9: expected a number in x row 1, found 5."},
    {R"({"x": [[007]]})", not_json, "column 9: expected a number in x row 1, found 007"},
    {R"({"x": [[-]]})", not_json, "column 9: expected a number in x row 1, found -"},
    {R"({"x": [[1e]]})", not_json, "column 9: expected a number in x row 1, found 1e"},
    {R"({"x": [[0x10]]})", not_json, "column 9: expected a number in x row 1, found 0x10"},
    {R"({"x": [[1_000]]})", not_json, "column 9: expected a number in x row 1, found 1_000"},
    {R"({"causal": True})", not_json, "column 12: expected true or false in causal, found True"},
    {R"({"causal": truest})", not_json, "column 12: expected true or false in causal, found truest"},

    // JSON of the wrong type; columns count characters, not bytes.
    {"[[1, 2]]", wrong_type, "line 1, column 1: expected an object in braces, found an array"},
    {"\n 7", wrong_type, "line 2, column 2: expected an object in braces, found a number"},
    {"null", wrong_type, "expected an object in braces, found null"},
    {"\"x\"", wrong_type, "expected an object in braces, found a string"},
    {R"({"x": 1})", wrong_type, "column 7: expected an array of rows in x, found a number"},
    {R"({"x": null})", wrong_type, "column 7: expected an array of rows in x, found null"},
    {R"({"x": {"a": 1}})", wrong_type, "column 7: expected an array of rows in x, found an object"},
    {R"({"x": [1, 2]})", wrong_type, "column 8: expected an array of numbers in x row 1, found a number"},
    {R"({"x": [[1], "2"]})", wrong_type,
     "column 13: expected an array of numbers in x row 2, found a string"},
    {"{\n\"x\": [\n[1, 2], [3, \"4\"]]}", wrong_type,
     "line 3, column 13: expected a number in x row 2, found a string"},
    {R"({"x": [[[1]]]})", wrong_type, "column 9: expected a number in x row 1, found an array"},
    {R"({"x": [[{}]]})", wrong_type, "column 9: expected a number in x row 1, found an object"},
    {R"({"x": [[true]]})", wrong_type, "column 9: expected a number in x row 1, found true"},
    {R"({"x": [[1e5, null]]})", wrong_type, "column 14: expected a number in x row 1, found null"},
    {R"({"tokens": "a b"})", wrong_type, "column 12: expected an array of strings in tokens, found a string"},
    {R"({"tokens": ["é", 1]})", wrong_type, "column 18: expected a string in tokens, found a number"},
    {R"({"key_tokens": [["a"]]})", wrong_type, "column 17: expected a string in key_tokens, found an array"},
    {R"({"bq": [[1]]})", wrong_type, "column 9: expected a number in bq, found an array"},
    {R"({"bq": 1})", wrong_type, "column 8: expected an array of numbers in bq, found a number"},
    {R"({"heads": "2"})", wrong_type, "column 11: expected a number in heads, found a string"},
    {R"({"heads": [2]})", wrong_type, "column 11: expected a number in heads, found an array"},
    {R"({"causal": 1})", wrong_type, "column 12: expected true or false in causal, found a number"},
    {R"({"causal": "true"})", wrong_type, "column 12: expected true or false in causal, found a string"},
    {R"({"causal": null})", wrong_type, "column 12: expected true or false in causal, found null"},
    {R"({"scale": "1"})", wrong_type, "column 11: expected a number in scale, found a string"},
    {R"({"positions": true})", wrong_type, "column 15: expected a string in positions, found true"},

    // Numbers and words that mean nothing.
    {R"({"x": [[1e400]]})", number_range,
     "column 9: 1e400 in x row 1 is outside the range of a 64-bit float"},
    {R"({"x": [[1], [-1e309]]})", number_range, "-1e309 in x row 2 is outside the range"},
    {R"({"x": [[1e99999999999999999999999]]})", number_range, "is outside the range of a 64-bit float"},
    {R"({"scale": 1e999})", number_range, "column 11: 1e999 in scale is outside the range of a 64-bit float"},
    {R"({"heads": 1e999})", number_range, "1e999 in heads is outside the range"},
    {R"({"heads": 0})", bad_value, "column 11: heads is 0, expected a whole number of at least 1"},
    {R"({"heads": -1})", bad_value, "heads is -1, expected a whole number of at least 1"},
    {R"({"heads": 2.5})", bad_value, "heads is 2.5, expected a whole number of at least 1"},
    {R"({"heads": 1e300})", bad_value, "heads is 1e300, expected a whole number of at least 1"},
    {R"({"heads": 18446744073709551617})", bad_value, "heads is 18446744073709551617, expected a whole"},
    {R"({"positions": "rotary"})", bad_value,
     "column 15: positions is \"rotary\", expected \"sinusoidal\" or \"none\""},
    {R"({"positions": ""})", bad_value, "positions is \"\", expected"},

    // Keys.
    {R"({"X": [[1]]})", unknown_key,
     "column 2: unknown key \"X\", the known keys are tokens, key_tokens, x, context, q, k, v, wq, wk, wv, "
     "wo, "
     "bq, bk, bv, bo, heads, causal, scale, positions"},
    {R"({"": 1})", unknown_key, "unknown key \"\""},
    {R"({"x": [[1]], "\u001b[2J\n": 1})", unknown_key, "unknown key \"\\x1b[2J\\x0a\""},
    {R"({"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": 1})",
     unknown_key, "aaaa...\""},
    {R"({"x": [[1]], "x": [[1]]})", duplicate_key, "column 14: key \"x\" is given twice"},
    {R"({"x": [[1]], "\u0078": [[1]]})", duplicate_key, "column 14: key \"x\" is given twice"},
    {R"({})", missing_key, "there are no vectors, expected x, or q, k and v"},
    {R"({"tokens": ["a"]})", missing_key, "there are no vectors, expected x, or q, k and v"},
    {R"({"q": [[1]], "v": [[1]]})", missing_key, "k is missing, q, k and v go together"},
    {R"({"k": [[1]], "v": [[1]]})", missing_key, "q is missing, q, k and v go together"},
    {R"({"x": [[1]], "wq": [[1]], "wk": [[1]]})", missing_key, "wv is missing, wq, wk and wv go together"},
    {R"({"x": [[1]], "bq": [1]})", missing_key, "bq needs wq, which is missing"},
    {R"({"x": [[1]], "bk": [1]})", missing_key, "bk needs wk, which is missing"},
    {R"({"x": [[1]], "bv": [1]})", missing_key, "bv needs wv, which is missing"},
    {R"({"x": [[1]], "bo": [1]})", missing_key, "bo needs wo, which is missing"},
    {R"({"q": [[1]], "k": [[1]], "v": [[1]], "wq": [[1]]})", missing_key, "wq needs x, which is missing"},
    {R"({"q": [[1]], "k": [[1]], "v": [[1]], "context": [[1]]})", missing_key, "context needs x"},
    {R"({"q": [[1]], "k": [[1]], "v": [[1]], "positions": "sinusoidal"})", missing_key, "positions needs x"},
    {R"({"x": [[1]], "q": [[1]]})", conflicting_keys, "x and q are both given, expected x, or q, k and v"},
    {R"({"v": [[1]], "x": [[1]]})", conflicting_keys, "x and v are both given"},
    {R"({"x": [[1]], "key_tokens": ["a"]})", conflicting_keys,
     "key_tokens differ from tokens, but the keys come from x itself"},

    // Sizes.
    {R"({"x": [[1, 2, 3], [4, 5, 6], [7, 8]]})", ragged_rows,
     "column 30: x row 3 has 2 numbers, row 1 has 3"},
    {R"({"x": [[1], [1, 2]]})", ragged_rows, "column 13: x row 2 has 2 numbers, row 1 has 1"},
    {R"({"x": [[], [1]]})", ragged_rows, "x row 2 has 1 number, row 1 has 0"},
    {R"({"x": []})", empty_matrix, "x has no rows"},
    {R"({"x": [], "tokens": []})", empty_matrix, "x has no rows"},
    {R"({"x": [[], []]})", empty_matrix, "x has no columns"},
    {R"({"x": [[1]], "context": []})", empty_matrix, "context has no rows"},
    {R"({"x": [[1]], "wo": [[]]})", empty_matrix, "wo has no columns"},
    {R"({"q": [[1]], "k": [], "v": []})", empty_matrix, "k has no rows"},
    {R"({"x": [[1], [2]], "tokens": ["a"]})", size_mismatch, "tokens has 1 label, x has 2 rows"},
    {R"({"x": [[1]], "tokens": []})", size_mismatch, "tokens has 0 labels, x has 1 row"},
    {R"({"q": [[1]], "k": [[1]], "v": [[1]], "tokens": ["a", "b"]})", size_mismatch,
     "tokens has 2 labels, q has 1 row"},
    {R"({"q": [[1]], "k": [[1]], "v": [[1]], "key_tokens": ["a", "b"]})", size_mismatch,
     "key_tokens has 2 labels, k has 1 row"},
    {R"({"x": [[1]], "context": [[1], [2]], "key_tokens": ["a"]})", size_mismatch,
     "key_tokens has 1 label, context has 2 rows"},
    {R"({"q": [[1]], "k": [[1], [2]], "v": [[1]]})", size_mismatch, "k has 2 rows, v has 1"},
    {R"({"q": [[1, 2]], "k": [[1]], "v": [[1]]})", size_mismatch, "k has 1 column, q has 2"},
    {R"({"x": [[1, 2]], "context": [[1, 2, 3]]})", size_mismatch, "context has 3 columns, x has 2"},
    {R"({"x": [[1, 2, 3]], "wq": [[1], [2], [3], [4]], "wk": [[1]], "wv": [[1]]})", size_mismatch,
     "wq has 4 rows, x has 3 columns"},
    {R"({"x": [[1]], "wq": [[1]], "wk": [[1], [2]], "wv": [[1]]})", size_mismatch,
     "wk has 2 rows, x has 1 column"},
    {R"({"x": [[1]], "context": [[1, 2]], "wq": [[1]], "wk": [[1], [2]], "wv": [[1]]})", size_mismatch,
     "wv has 1 row, context has 2 columns"},
    {R"({"x": [[1]], "wq": [[1, 2]], "wk": [[1]], "wv": [[1]]})", size_mismatch, "wk has 1 column, wq has 2"},
    {R"({"x": [[1]], "wq": [[1]], "wk": [[1]], "wv": [[1]], "bv": [1, 2]})", size_mismatch,
     "bv has 2 numbers, wv has 1 column"},
    {R"({"x": [[1]], "wq": [[1]], "wk": [[1]], "wv": [[1]], "bq": []})", size_mismatch,
     "bq has 0 numbers, wq has 1 column"},
    {R"({"x": [[1, 2]], "wo": [[1]]})", size_mismatch, "wo has 1 row, x has 2 columns"},
    {R"({"x": [[1]], "wo": [[1, 2]], "bo": [1]})", size_mismatch, "bo has 1 number, wo has 2 columns"},
    {R"({"x": [[1, 2, 3]], "heads": 2})", size_mismatch,
     "heads is 2, which does not divide the 3 columns of x"},
    {R"({"x": [[1, 2]], "heads": 1000000000})", size_mismatch,
     "heads is 1000000000, which does not divide the 2 columns of x"},
    {R"({"q": [[1, 2]], "k": [[1, 2]], "v": [[1]], "heads": 2})", size_mismatch,
     "heads is 2, which does not divide the 1 column of v"},
};

TEST(BadLessons, EachGetsItsCauseAndItsSentence) {
  for (const BadLesson& bad : kBadLessons) {
    // A copy of exactly this size, so that reading past it is seen by the address sanitizer.
    const std::vector<char> text(bad.text.begin(), bad.text.end());
    EXPECT_REFUSES_LESSON(parse_lesson("v.json", {text.data(), text.size()}), bad.cause, bad.sentence)
        << bad.text;
    EXPECT_REFUSES_LESSON(parse_lesson("v.json", {text.data(), text.size()}), bad.cause, "v.json: ");
  }
}

// Whether the file can be read at all, and its size, are tested with read_text and steps_file.
TEST(BadLessons, CoverEveryCauseOfAText) {
  std::set<LessonCause> causes{unreadable, too_large};
  for (const BadLesson& bad : kBadLessons) causes.insert(bad.cause);
  EXPECT_EQ(causes.size(), static_cast<std::size_t>(size_mismatch) + 1);
}

}  // namespace
}  // namespace attend::steps
