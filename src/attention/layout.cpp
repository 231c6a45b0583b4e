#include "attention/layout.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "base/error.h"

namespace attend::detail {
namespace {

// Far beyond any sequence, and far enough from the ends of int64 that sums of three cannot overflow.
constexpr std::int64_t kFarthest = std::int64_t{1} << 48;

struct Checker {
  const char* operation;
  ConstTensorView q, k, v;
  const AttentionOptions& options;
  StoredAs stored;
  Layout layout;

  template <class... Parts>
  [[noreturn]] void no(const Parts&... parts) const {
    refuse(operation, parts...);
  }

  void tensor(const char* name, ConstTensorView view, const char* axes) const {
    if (!view.given()) no(name, " is not given");
    const int rank = layout.packed ? 3 : 4;
    if (view.rank() != rank) no(name, " has shape ", to_string(view.shape()), ", expected ", axes);
    if (!is_float(view.dtype()))
      no(name, " holds ", name_of(view.dtype()), " values, expected a floating type");
    const bool computed_alike = (view.dtype() == DType::f64) == (q.dtype() == DType::f64);
    if (view.dtype() != q.dtype() && !(computed_alike && stored == StoredAs::anything_computed_alike))
      no(name, " is ", name_of(view.dtype()), " but query is ", name_of(q.dtype()));
  }

  void shapes() {
    layout.packed = !options.cumulative_query_lengths.empty() || !options.cumulative_key_lengths.empty();
    tensor("query", q, layout.packed ? "(total, heads, d)" : "(batch, heads, length, d)");
    tensor("key", k, layout.packed ? "(total, heads, d)" : "(batch, heads, length, d)");
    const int head_axis = 1;
    const int row_axis = layout.packed ? 0 : 2;
    const int last = layout.packed ? 2 : 3;
    layout.query_heads = q.size(head_axis);
    layout.key_heads = k.size(head_axis);
    layout.d = q.size(last);
    if (k.size(last) != layout.d) no("key has head dimension ", k.size(last), ", query has ", layout.d);
    if (layout.d == 0) no("query has head dimension 0");
    if (!layout.packed && k.size(0) != q.size(0)) no("key has batch ", k.size(0), ", query has ", q.size(0));
    if (layout.query_heads > 0 && (layout.key_heads == 0 || layout.query_heads % layout.key_heads != 0)) {
      no("key has ", layout.key_heads, " heads, not a divisor of the query's ", layout.query_heads);
    }
    if (!v.given()) return;
    tensor("value", v, layout.packed ? "(total, heads, d)" : "(batch, heads, length, d)");
    layout.dv = v.size(last);
    if (!layout.packed && v.size(0) != k.size(0)) no("value has batch ", v.size(0), ", key has ", k.size(0));
    if (v.size(head_axis) != layout.key_heads) {
      no("value has ", v.size(head_axis), " heads, key has ", layout.key_heads);
    }
    if (v.size(row_axis) != k.size(row_axis)) {
      no("value has ", v.size(row_axis), " rows, key has ", k.size(row_axis));
    }
  }

  void cumulative(const char* name, const std::vector<std::int64_t>& lengths, std::int64_t total) const {
    if (lengths.empty()) no(name, " is not given, but the other side is packed");
    if (lengths.front() != 0) no(name, " begins with ", lengths.front(), ", expected 0");
    for (std::size_t i = 1; i < lengths.size(); ++i) {
      if (lengths[i] < lengths[i - 1]) no(name, " falls from ", lengths[i - 1], " to ", lengths[i]);
    }
    if (lengths.back() != total) no(name, " ends with ", lengths.back(), ", but there are ", total, " rows");
  }

  void sequences() {
    if (layout.packed) {
      const auto& query = options.cumulative_query_lengths;
      const auto& key = options.cumulative_key_lengths;
      cumulative("cumulative_query_lengths", query, q.size(0));
      cumulative("cumulative_key_lengths", key, k.size(0));
      if (query.size() != key.size()) {
        no("cumulative_query_lengths describes ", query.size() - 1, " sequences, cumulative_key_lengths ",
           key.size() - 1);
      }
      for (std::size_t s = 0; s + 1 < query.size(); ++s) {
        const std::int64_t keys = key[s + 1] - key[s];
        layout.sequences.push_back({query[s], key[s], query[s + 1] - query[s], keys, keys, 0});
      }
    } else {
      layout.sequences.assign(static_cast<std::size_t>(q.size(0)),
                              {0, 0, q.size(2), k.size(2), k.size(2), 0});
      layout.longest_queries = q.size(2);
      layout.longest_keys = k.size(2);
    }
    for (const SequenceLayout& sequence : layout.sequences) {
      layout.longest_queries = std::max(layout.longest_queries, sequence.queries);
      layout.longest_keys = std::max(layout.longest_keys, sequence.keys);
    }
  }

  void per_sequence(const char* name, const std::vector<std::int64_t>& values) const {
    if (values.size() != layout.sequences.size()) {
      no(name, " has ", values.size(), " entries for ", layout.sequences.size(), " sequences");
    }
  }

  void key_lengths() {
    if (options.key_lengths.empty()) return;
    if (layout.packed)
      no("key_lengths has no meaning with packed sequences, whose lengths are cumulative_key_lengths");
    per_sequence("key_lengths", options.key_lengths);
    for (std::size_t s = 0; s < layout.sequences.size(); ++s) {
      const std::int64_t length = options.key_lengths[s];
      if (length < 0 || length > layout.sequences[s].keys) {
        no("key_lengths[", s, "] is ", length, ", expected 0 to ", layout.sequences[s].keys);
      }
      layout.sequences[s].key_count = length;
    }
  }

  void query_offsets() {
    const QueryOffset& offset = options.query_offset;
    if (offset.kind() == QueryOffset::Kind::per_sequence) per_sequence("query_offset", offset.values());
    for (std::size_t s = 0; s < layout.sequences.size(); ++s) {
      SequenceLayout& sequence = layout.sequences[s];
      switch (offset.kind()) {
        case QueryOffset::Kind::one:
          sequence.query_offset = offset.values().front();
          break;
        case QueryOffset::Kind::per_sequence:
          sequence.query_offset = offset.values()[s];
          break;
        case QueryOffset::Kind::bottom_right:
          sequence.query_offset = sequence.key_count - sequence.queries;
          break;
      }
      if (sequence.query_offset < -kFarthest || sequence.query_offset > kFarthest)
        no("query_offset is ", sequence.query_offset, ", expected -2^48 to 2^48");
    }
  }

  void numbers() {
    const auto side = [&](const char* name, std::int64_t size) {
      if (size < Window::kUnlimited) {
        no("window.", name, " is ", size, ", expected 0 or more, or -1 for unlimited");
      }
      return std::min(size, 4 * kFarthest);  // more than any distance between a query and a key
    };
    layout.window = {side("left", options.window.left), side("right", options.window.right)};
    layout.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(layout.d)));
    require_finite("scale is ", layout.scale);
    if (options.softcap != 0) {
      require_finite("softcap is ", options.softcap);
      if (options.softcap < smallest())
        no("softcap is ", options.softcap, ", expected a positive number, or 0 for none");
    }
    if (!(options.dropout >= 0 && options.dropout < 1)) {
      no("dropout is ", options.dropout, ", expected a probability from 0 to below 1");
    }
    per_head("alibi_slopes", options.alibi_slopes);
    for (const double slope : options.alibi_slopes) require_finite("alibi_slopes holds ", slope);
    per_head("sinks", options.sinks);
    for (const double sink : options.sinks) {
      if (sink != -INFINITY) require_finite("sinks holds ", sink);
    }
    precision();
  }

  void precision() {
    const auto is_bf16 = [](ConstTensorView view) { return !view.given() || view.dtype() == DType::bf16; };
    const bool all_bf16 = is_bf16(q) && is_bf16(k) && is_bf16(v);
    layout.precision = options.precision.value_or(all_bf16 ? Precision::bf16 : Precision::f32);
    if (!options.precision) return;
    if (layout.precision != Precision::f32 && layout.precision != Precision::bf16) {
      no("precision is ", name_of(layout.precision), ", expected f32 or bf16");
    }
    if (q.dtype() == DType::f64) {
      no("precision is ", name_of(layout.precision), ", but f64 is computed in f64");
    }
  }

  // What the computing type can hold: f32, unless the queries are f64.
  double largest() const { return q.dtype() == DType::f64 ? DBL_MAX : FLT_MAX; }
  double smallest() const { return q.dtype() == DType::f64 ? DBL_MIN : FLT_MIN; }
  void require_finite(const char* what, double value) const {
    if (!(std::abs(value) <= largest())) {
      no(what, value, ", expected a finite number of ", q.dtype() == DType::f64 ? "f64" : "f32");
    }
  }

  void per_head(const char* name, const std::vector<double>& values) const {
    if (!values.empty() && static_cast<std::int64_t>(values.size()) != layout.query_heads) {
      no(name, " has ", values.size(), " entries for ", layout.query_heads, " query heads");
    }
  }

  // Aligned with (sequences, heads, queries, keys) from the right, as NumPy does.
  void broadcasts(const char* name, ConstTensorView view) const {
    const Dims target{static_cast<std::int64_t>(layout.sequences.size()), layout.query_heads,
                      layout.longest_queries, layout.longest_keys};
    for (int axis = 0; axis < view.rank(); ++axis) {
      const int place = kMaxRank - view.rank() + axis;
      // A table made for longer sequences serves packed ones too, which have no common length anyway.
      const bool long_enough = layout.packed && place >= 2 && view.size(axis) > target[place];
      if (view.size(axis) != 1 && view.size(axis) != target[place] && !long_enough) {
        no(name, " has shape ", to_string(view.shape()), ", which does not broadcast to ", to_string(target));
      }
    }
  }

  void masks() {
    if (options.mask.given() && options.mask.dtype() != DType::boolean) {
      no("mask is ", name_of(options.mask.dtype()),
         ", expected boolean (true = takes part); a float mask is a bias");
    }
    if (options.bias.given() && !is_float(options.bias.dtype())) {
      no("bias is ", name_of(options.bias.dtype()), ", expected a floating type; a boolean bias is a mask");
    }
    broadcasts("mask", options.mask);
    broadcasts("bias", options.bias);
  }
};

}  // namespace

Layout check_attention(const char* operation, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, StoredAs stored) {
  Checker checker{operation, q, k, v, options, stored, {}};
  checker.shapes();
  checker.sequences();
  checker.key_lengths();
  checker.query_offsets();
  checker.numbers();
  checker.masks();
  return std::move(checker.layout);
}

void check_row_state(const char* operation, RowStateView row_state, const Dims& shape,
                     std::initializer_list<NamedView> inputs) {
  if (row_state.max.given() != row_state.sum.given()) {
    refuse(operation, "row_state has ", row_state.max.given() ? "max but no sum" : "sum but no max");
  }
  if (!row_state.max.given()) return;
  for (const NamedView& part :
       {NamedView{"row_state.max", row_state.max}, NamedView{"row_state.sum", row_state.sum}}) {
    require_shape(operation, part, shape);
    require_writable(operation, part, inputs);
  }
  require_writable(operation, {"row_state.max", row_state.max}, {{"row_state.sum", row_state.sum}});
}

void check_given_row_state(const char* operation, ConstRowStateView row_state, ConstTensorView q,
                           DType computes_in) {
  if (row_state.max.given() != row_state.sum.given()) {
    refuse(operation, "row_state has ", row_state.max.given() ? "max but no sum" : "sum but no max");
  }
  if (!row_state.max.given()) return;
  for (const NamedView& part :
       {NamedView{"row_state.max", row_state.max}, NamedView{"row_state.sum", row_state.sum}}) {
    require_shape(operation, part, q.shape().without(q.rank() - 1));
    if (part.view.dtype() != computes_in) {
      refuse(operation, part.name, " is ", name_of(part.view.dtype()), ", expected ", name_of(computes_in));
    }
  }
}

}  // namespace attend::detail
