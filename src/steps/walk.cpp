#include "steps/walk.h"

#include <attend/multi_head.h>
#include <attend/positions.h>

#include <cmath>
#include <limits>

#include "nn/linear.h"
#include "steps/lesson_error.h"

namespace attend::steps {
namespace {

std::string shape(std::int64_t rows, std::int64_t columns) { return to_string(Dims{rows, columns}); }

std::string product(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  return shape(rows, inner)
      .append(" @ ")
      .append(shape(inner, columns))
      .append(" -> ")
      .append(shape(rows, columns));
}

// x plus the sinusoidal table, when the lesson asks for it.
Tensor with_positions(const Tensor& x, bool sinusoidal) {
  Tensor result = copy_of(x);
  if (!sinusoidal) return result;
  Tensor table(DType::f64, x.shape());
  sinusoidal_positions(table);
  for (std::size_t i = 0; i < table.values<double>().size(); ++i) {
    result.values<double>()[i] += table.values<double>()[i];
  }
  return result;
}

ConstTensorView given(const std::optional<Tensor>& tensor) {
  return tensor ? ConstTensorView(*tensor) : ConstTensorView();
}

Tensor projected(const Tensor& x, const Tensor& w, const std::optional<Tensor>& bias) {
  Tensor out(DType::f64, {x.size(0), w.size(1)});
  linear(x, w, given(bias), out);
  return out;
}

// (n, heads * d) as (1, heads, n, d)
ConstTensorView by_head(const Tensor& matrix, std::int64_t heads) {
  return matrix.view().split(1, heads, matrix.size(1) / heads).transposed(0, 1).with_axis(0);
}

void take_vectors(const Lesson& lesson, Walk& walk) {
  if (lesson.q) {
    walk.q = copy_of(*lesson.q), walk.k = copy_of(*lesson.k), walk.v = copy_of(*lesson.v);
    walk.q_name = "Q", walk.k_name = "K", walk.v_name = "V";
    return;
  }
  walk.x = with_positions(*lesson.x, lesson.sinusoidal_positions);
  const bool cross = lesson.context.has_value();
  walk.context = cross ? with_positions(*lesson.context, lesson.sinusoidal_positions) : copy_of(walk.x);
  const std::string source = cross ? "C" : "X";
  walk.steps.push_back({"Input", "X", to_string(walk.x.shape())});
  if (cross) walk.steps.push_back({"Context", "C", to_string(walk.context.shape())});
  if (lesson.sinusoidal_positions) {
    const std::string each = to_string(walk.x.shape());
    walk.steps.push_back(
        {"Positions", cross ? "X + P, and C + P likewise" : "X + P", each + " + " + each + " -> " + each});
  }
  if (!lesson.wq) {
    walk.q = copy_of(walk.x), walk.k = copy_of(walk.context), walk.v = copy_of(walk.context);
    walk.q_name = "X", walk.k_name = walk.v_name = source;
    return;
  }
  walk.q = projected(walk.x, *lesson.wq, lesson.bq);
  walk.k = projected(walk.context, *lesson.wk, lesson.bk);
  walk.v = projected(walk.context, *lesson.wv, lesson.bv);
  walk.q_name = "Q", walk.k_name = "K", walk.v_name = "V";
  const auto step = [&](const char* name, const std::string& from, const char* matrix, const Tensor& x,
                        const Tensor& w, bool bias) {
    std::string operation = from;
    operation.append(" @ ").append(matrix);
    if (bias) operation.append(" + b").append(1, matrix[1]);
    walk.steps.push_back({name, operation, product(x.size(0), x.size(1), w.size(1))});
  };
  step("Queries", "X", "Wq", walk.x, *lesson.wq, lesson.bq.has_value());
  step("Keys", source, "Wk", walk.context, *lesson.wk, lesson.bk.has_value());
  step("Values", source, "Wv", walk.context, *lesson.wv, lesson.bv.has_value());
}

void describe_steps(const Lesson& lesson, Walk& walk) {
  const std::string each = walk.heads > 1 ? " in each head" : "";
  const auto add = [&](const char* name, std::string operation, std::string text, bool per_head) {
    walk.steps.push_back({name, operation.append(per_head ? each : ""), std::move(text)});
  };
  const std::int64_t n = walk.queries, m = walk.keys;
  if (lesson.q) {
    add("Queries", "Q", to_string(walk.q.shape()), false);
    add("Keys", "K", to_string(walk.k.shape()), false);
    add("Values", "V", to_string(walk.v.shape()), false);
  }
  if (walk.heads > 1) {
    const auto split = [&](const Tensor& matrix, std::int64_t rows) {
      return to_string(matrix.shape())
          .append(" -> ")
          .append(to_string(Dims{walk.heads, rows, matrix.size(1) / walk.heads}));
    };
    add("Split", walk.q_name + " into heads", split(walk.q, n), false);
    add("Split", walk.k_name + " into heads", split(walk.k, m), false);
    add("Split", walk.v_name + " into heads", split(walk.v, m), false);
  }
  add("Scores", walk.q_name + " @ " + walk.k_name + "ᵀ", product(n, walk.d, m), true);
  const std::string same = shape(n, m).append(" -> ").append(shape(n, m));
  if (walk.scale != 1) add("Scale", lesson.scale ? "scores × scale" : "scores / √d", same, true);
  if (lesson.causal) add("Mask", "later keys get -inf", same, true);
  add("Weights", "softmax(scores)", same, true);
  add("Output", "weights @ " + walk.v_name, product(n, m, walk.dv), true);
  if (walk.heads > 1) {
    add("Concat", "heads side by side",
        to_string(Dims{walk.heads, n, walk.dv}).append(" -> ").append(shape(n, walk.heads * walk.dv)), false);
  }
  if (lesson.wo) {
    const std::string operation = walk.heads > 1 ? "concat @ Wo" : "output @ Wo";
    add("Project", lesson.bo ? operation + " + bo" : operation,
        product(n, walk.heads * walk.dv, lesson.wo->size(1)), false);
  }
}

// Numbers near the limit of float64 overflow somewhere along the way; say so instead of showing NaN.
void require_finite(std::string_view name, const char* what, const Tensor& tensor) {
  for (const double value : tensor.values<double>()) {
    if (!std::isfinite(value)) {
      refuse_lesson(LessonCause::number_range, name, "the ", what,
                    " overflow float64: the numbers are too large");
    }
  }
}

}  // namespace

Walk walk(std::string_view name, const Lesson& lesson) {
  Walk walk;
  walk.heads = lesson.heads;
  walk.queries = lesson.q ? lesson.q->size(0) : lesson.x->size(0);
  walk.keys = lesson.k ? lesson.k->size(0) : lesson.context ? lesson.context->size(0) : walk.queries;
  if (walk.queries * walk.keys > kMaxWalkCells / walk.heads) {
    refuse_lesson(LessonCause::too_large, name, walk.heads, " x ", walk.queries, " x ", walk.keys,
                  " weights are too many to write out; the limit is ", kMaxWalkCells, ", as for 4096 tokens");
  }
  take_vectors(lesson, walk);
  walk.d = walk.q.size(1) / walk.heads;
  walk.dv = walk.v.size(1) / walk.heads;
  const bool parameter_free = walk.q_name != "Q" && walk.heads == 1;
  walk.scale = lesson.scale.value_or(parameter_free ? 1 : 1 / std::sqrt(static_cast<double>(walk.d)));

  const ConstTensorView q = by_head(walk.q, walk.heads), k = by_head(walk.k, walk.heads),
                        v = by_head(walk.v, walk.heads);
  const auto stage = [&](Stage which, double scale) {
    AttentionOptions options;
    options.scale = scale;
    options.causal = lesson.causal;
    const Tensor rows = attention_rows(q, k, options, which);
    return copy_of(rows.view().select(0, 0));
  };
  walk.products = stage(Stage::scores, 1);
  walk.scores = stage(Stage::scores, walk.scale);
  require_finite(name, "scores", walk.products);
  require_finite(name, "scores", walk.scores);
  walk.biased = stage(Stage::biased, walk.scale);
  walk.weights = stage(Stage::weights, walk.scale);

  AttentionOptions options;
  options.scale = walk.scale;
  options.causal = lesson.causal;
  walk.concat = Tensor(DType::f64, {walk.queries, walk.heads * walk.dv});
  attention(q, k, v, options, walk.concat.view().split(1, walk.heads, walk.dv).transposed(0, 1).with_axis(0));
  walk.output = lesson.wo ? projected(walk.concat, *lesson.wo, lesson.bo) : copy_of(walk.concat);
  require_finite(name, "outputs", walk.output);
  describe_steps(lesson, walk);
  return walk;
}

}  // namespace attend::steps
