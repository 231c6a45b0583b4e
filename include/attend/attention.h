// Scaled dot-product attention, softmax(scale q k^T + bias) v, with every option, and its weights whenever
// they are asked for.
//
// Shapes:  q (B, Hq, Lq, D)   k (B, Hkv, Lk, D)   v (B, Hkv, Lk, Dv)   out (B, Hq, Lq, Dv)
// Packed:  q (total_q, Hq, D) k (total_k, Hkv, D) v (total_k, Hkv, Dv) out (total_q, Hq, Dv), see
// cumulative_query_lengths.
//
// Any strides. q, k and v are of one dtype: f32, or f16 (stored so, computed in f32), or bf16 (see
// precision), or f64, which is the reference. Functions throw std::invalid_argument with one sentence when
// the input makes no sense; they never print, exit or abort. They may be called from several threads at once.
// Outputs must not overlap inputs in memory.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <attend/precision.h>
#include <attend/stage.h>
#include <attend/tensor.h>

namespace attend {

// Where query 0 of a sequence is on the key axis: query i is at position i + offset. Causal, window
// and ALiBi measure from there. With a cache of past keys the offset is the number of past keys.
class QueryOffset {
 public:
  QueryOffset() = default;  // not given: top left, or bottom right with a cache
  template <std::integral Integer>
  QueryOffset(Integer offset) : given_(true), values_{static_cast<std::int64_t>(offset)} {}
  QueryOffset(std::vector<std::int64_t> per_sequence)
      : kind_(Kind::per_sequence), given_(true), values_(std::move(per_sequence)) {}

  static QueryOffset top_left() { return 0; }  // 0: the first query sees the first key
  static QueryOffset bottom_right() {          // Lk - Lq: the last query sees the last key that exists
    QueryOffset offset;
    offset.kind_ = Kind::bottom_right;
    offset.given_ = true;
    return offset;
  }

  enum class Kind : std::uint8_t { one, per_sequence, bottom_right };
  Kind kind() const noexcept { return kind_; }
  bool given() const noexcept { return given_; }
  const std::vector<std::int64_t>& values() const noexcept { return values_; }

 private:
  Kind kind_ = Kind::one;
  bool given_ = false;
  std::vector<std::int64_t> values_{0};
};

// A query at position p sees the keys from p - left to p + right. kUnlimited opens a side.
struct Window {
  static constexpr std::int64_t kUnlimited = -1;
  std::int64_t left = kUnlimited;
  std::int64_t right = kUnlimited;
};

// Everything combines with everything. A key takes part when every one of causal, window, key length, mask
// and bias lets it.
//
//   scores = scale q.k
//   capped = softcap tanh(scores / softcap)                       (= scores without a softcap)
//   biased = capped + bias - slope |position - key|               (-inf for a key that takes no part)
//   weights = exp(biased) / (sum over keys of exp(biased) + exp(sink))
//
// A row without any key gives output 0. The contents of a key that takes no part, even NaN, change nothing.
//
// Numbers and bias are rounded to the type that computes (f32, or f64 for f64 queries); those that do not fit
// it are refused. A view keeps nothing alive: what mask and bias look at must outlive the call.
struct AttentionOptions {
  std::optional<double> scale{};            // default 1 / sqrt(D)
  bool causal = false;                      // a query sees no key after its own position
  QueryOffset query_offset{};               // default: top left
  Window window{};                          // default: unlimited
  std::vector<std::int64_t> key_lengths{};  // (B): keys [0, length) exist; not with packed sequences
  ConstTensorView mask{};                   // boolean, true = takes part; broadcasts to (B, Hq, Lq, Lk)
  ConstTensorView bias{};  // floating, added after the cap; -inf masks; broadcasts to (B, Hq, Lq, Lk)
  std::vector<double> alibi_slopes{};  // (Hq), positive slopes favour near keys
  double softcap = 0;                  // 0 = none
  std::vector<double> sinks{};         // (Hq): a logit that takes weight and gives no value

  // Training: each weight is dropped with this probability before it meets its value, and the others are
  // divided by 1 - dropout. Which ones is a function of (seed, sequence, query head, query, key) alone, the
  // same in forward and backward, on every machine and thread; `sequence` is the place in the batch, so with
  // dropout a result does depend on it. The row state and the stages are those without dropout.
  double dropout = 0;
  std::uint64_t dropout_seed = 0;

  // In which numbers q k^T and weights v are multiplied; sums and softmax are f32. Default: bf16 for bf16
  // tensors, f32 for f32 and f16. bf16 rounds tensors of f32 and f16. A processor without instructions for it
  // multiplies in f32 all the same, as does every processor for up to 8 queries; that is at least as exact.
  // f32 is exact for every type. int8 is refused, and so is any for f64, which computes in f64.
  std::optional<Precision> precision{};

  // Packed sequences, never padded: sequence s is rows [c[s], c[s + 1]) of q (and of k and v), where c starts
  // at 0 and ends at the total. Mask and bias then broadcast to (sequences, Hq, longest Lq, longest Lk),
  // indexed by place within the sequence.
  std::vector<std::int64_t> cumulative_query_lengths{};
  std::vector<std::int64_t> cumulative_key_lengths{};
};

// The maximum of each row of `biased` and the sum of exp(biased - maximum), sinks included. Two numbers,
// because one log-sum-exp in f32 is not exact enough at large scores. Shape: that of q without its last axis.
// A row without keys: (-inf, 0).
struct RowStateView {
  TensorView max{};
  TensorView sum{};
};

struct ConstRowStateView {
  ConstTensorView max{};
  ConstTensorView sum{};
};

struct RowState {
  Tensor max;
  Tensor sum;

  RowState() = default;
  explicit RowState(ConstTensorView q);  // of the right shape and type for these queries
  operator RowStateView() { return {max, sum}; }
  operator ConstRowStateView() const { return {max, sum}; }
};

// out: the dtype of q, or f32 where q is bf16 or f16. row_state: f32 (f64 when q is f64), or not given.
void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
               TensorView out, RowStateView row_state = {});

// The same, into a new tensor of q's dtype.
Tensor attention(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                 const AttentionOptions& options = {});

// The kernel that attention() picks for such a call, and why. It follows from dtype and the lengths of each
// sequence; a packed batch of short and long queries is split between two.
struct KernelChoice {
  std::string_view name;
  std::string_view why;
  bool rounds_to_bf16 = false;  // it multiplies bf16, whatever q, k and v hold, in every sequence
};
KernelChoice attention_kernel(ConstTensorView q, ConstTensorView k, const AttentionOptions& options = {});

// max + log(sum), of any shape; -inf where a row has no keys.
void log_sum_exp(ConstRowStateView row_state, TensorView out);

// Two results over disjoint sets of keys become the result over both. Exact: this is how keys are split over
// threads, caches or machines. Shapes as attention() wrote them; out and row_state may be one of the inputs.
// A sink must be in one part only.
void merge_attention(ConstTensorView out_a, ConstRowStateView state_a, ConstTensorView out_b,
                     ConstRowStateView state_b, TensorView out, RowStateView row_state);

// A choice of indices along one axis: all of them, or those listed, in that order.
class Indices {
 public:
  Indices() = default;
  Indices(std::initializer_list<std::int64_t> list) : list_(list) {}
  Indices(std::vector<std::int64_t> list) : list_(std::move(list)) {}
  static Indices all() { return {}; }
  static Indices none() { return std::vector<std::int64_t>{}; }
  bool is_all() const noexcept { return !list_.has_value(); }
  const std::vector<std::int64_t>& list() const { return list_.value(); }

 private:
  std::optional<std::vector<std::int64_t>> list_;
};

struct RowSelection {
  Indices sequences{};  // batch entries, or packed sequences
  Indices heads{};      // query heads
  Indices rows{};       // queries, counted within the sequence
};

// Rows of one stage: (chosen sequences, chosen heads, chosen rows, longest Lk), f32, or f64 when q is f64.
// Where a packed sequence has fewer keys than the longest, weights are 0 and the other stages -inf. O(Lk)
// memory besides the result. With packed sequences of different lengths, choose rows that every chosen
// sequence has. row_state: as attention() wrote it for the same q, k and options, or not given; weights are
// then made from it.
Tensor attention_rows(ConstTensorView q, ConstTensorView k, const AttentionOptions& options, Stage stage,
                      const RowSelection& selection = {}, ConstRowStateView row_state = {});

}  // namespace attend
