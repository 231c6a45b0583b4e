// A lesson worked through: every matrix from the vectors to the result, in float64, and the shape of each
// step.
#pragma once

#include <string>
#include <vector>

#include "steps/lesson.h"

namespace attend::steps {

// "Scores", "Q @ Kᵀ", "(4, 3) @ (3, 4) -> (4, 4)"
struct Step {
  std::string name;
  std::string operation;
  std::string shape;
};

struct Walk {
  std::int64_t queries = 0, keys = 0;  // n, m
  std::int64_t heads = 1, d = 0, dv = 0;
  double scale = 1;

  // The operands by their names in the formulas: "X", "X", "X" in the parameter-free form, else "Q", "K",
  // "V".
  std::string q_name, k_name, v_name;

  Tensor x, context;  // with positions added; empty when the lesson gives q, k and v
  Tensor q, k, v;     // (n, heads * d), (m, heads * d), (m, heads * dv)
  Tensor products;    // (heads, n, m): q.k
  Tensor scores;      // (heads, n, m): scaled
  Tensor biased;      // (heads, n, m): -inf where the mask hides a key
  Tensor weights;     // (heads, n, m)
  Tensor concat;      // (n, heads * dv): the outputs of the heads side by side
  Tensor output;      // (n, columns): concat, times wo where there is one

  std::vector<Step> steps;
};

// Everything is written out, so the matrices must stay small enough to read.
inline constexpr std::int64_t kMaxWalkCells = std::int64_t{1} << 24;  // heads * n * m

// Throws LessonError for a lesson that is too large, or whose numbers overflow.
Walk walk(std::string_view name, const Lesson& lesson);

}  // namespace attend::steps
