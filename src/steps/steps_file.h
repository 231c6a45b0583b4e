// The user's own vectors: a JSON file, or standard input, becomes a Lesson. It is untrusted input.
//
// The file is one object. Matrices are arrays of rows, and rows are counted from 1 in every message.
//
//   {
//     "tokens": ["the", "cat", "sat"],            labels; default t1, t2, ...
//     "x": [[1, 0], [0, 1], [1, 1]],              n rows of e numbers, one row per token
//     "heads": 1, "causal": false, "scale": 0.5   all optional
//   }
//
// x               the token vectors; with "context" (m rows) keys and values come from there: cross-attention
// q, k, v         instead of x: (n, heads d), (m, heads d), (m, heads dv)
// wq, wk, wv      projections of x (wk and wv: of context, when given): all three or none, only with x
// wo              output projection, (heads dv, e_out)
// bq, bk, bv, bo  a bias for each of these matrices
// key_tokens      labels of the keys, where they are not the tokens themselves. Default: the tokens in
//                 self-attention and for as many k as q; else k1, k2, ...
// heads           divides the columns of q, k and v; without wq it splits x itself
// causal          true: a token sees no later key
// scale           a number; default 1 for x without projections or heads, otherwise 1 / sqrt(d)
// positions       "sinusoidal", only with x, or "none"
//
// A matrix without rows or columns is refused: there would be nothing to show.
#pragma once

#include <string>
#include <string_view>

#include "steps/lesson.h"
#include "steps/lesson_error.h"
#include "steps/read_text.h"

namespace attend::steps {

// The lesson a text describes, checked (see check_lesson.h), tokens and key_tokens filled in. `name` is what
// messages call the text; "-" reads as standard input. Throws LessonError, one sentence such as
//   vectors.json: line 3, column 14: expected a number in x row 2, found a string
Lesson parse_lesson(std::string_view name, std::string_view json_text);

// The same for a path, or "-".
Lesson read_lesson(const std::string& path);

}  // namespace attend::steps
