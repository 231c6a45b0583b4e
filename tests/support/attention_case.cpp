#include "support/attention_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "support/random.h"

namespace attend {
namespace {

constexpr const char* kOffsets[] = {"top_left", "bottom_right", "one", "per_sequence"};
constexpr const char* kMasks[] = {"none", "full", "matrix", "per_key", "per_head"};
constexpr const char* kBiases[] = {"none", "full", "matrix", "per_key", "with_minus_infinity"};
constexpr const char* kMemories[] = {"row_major", "heads_inside", "every_other", "backwards"};

// A view of the wanted shape over storage that is laid out in one of the ways callers have it.
ConstTensorView laid_out(Tensor& storage, const Dims& shape, CaseMemory memory, DType dtype,
                         std::uint64_t seed) {
  const int rows = shape.rank() - 2;
  const int last = shape.rank() - 1;
  Dims wanted = shape;
  switch (memory) {
    case CaseMemory::row_major:
      storage = random_normal(shape, dtype, seed);
      return storage;
    case CaseMemory::heads_inside:  // (B, L, H, D) seen as (B, H, L, D); packed tensors swap their first two
                                    // axes
      std::swap(wanted[rows], wanted[rows - 1]);
      storage = random_normal(wanted, dtype, seed);
      return storage.view().transposed(rows, rows - 1);
    case CaseMemory::every_other: {  // every second element of a row
      wanted[last] *= 2;
      storage = random_normal(wanted, dtype, seed);
      Dims strides = row_major_strides(wanted);
      strides[last] = 2;
      return {storage.view().raw(), dtype, shape, strides};
    }
    case CaseMemory::backwards: {  // rows from last to first
      storage = random_normal(shape, dtype, seed);
      Dims strides = row_major_strides(shape);
      const std::int64_t start = storage.count() == 0 ? 0 : (shape[rows] - 1) * strides[rows];
      auto* const bytes = static_cast<char*>(storage.view().raw());
      strides[rows] = -strides[rows];
      return {bytes == nullptr ? nullptr : bytes + start * static_cast<std::int64_t>(size_of(dtype)), dtype,
              shape, strides};
    }
  }
  return storage;
}

// Lengths up to `longest`, the longest among them, empty ones too.
std::vector<std::int64_t> lengths(std::int64_t count, std::int64_t longest, std::uint64_t seed) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = uniform_at(seed, static_cast<std::uint64_t>(i));
    result.push_back(i == 0 ? longest : static_cast<std::int64_t>(share * static_cast<double>(longest + 1)));
  }
  return result;
}

std::vector<std::int64_t> cumulative(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> result{0};
  for (const std::int64_t count : counts) result.push_back(result.back() + count);
  return result;
}

std::vector<double> numbers(std::int64_t count, double low, double high, std::uint64_t seed) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(low + (high - low) * uniform_at(seed, static_cast<std::uint64_t>(i)));
  }
  return result;
}

}  // namespace

AttentionInputs make_inputs(const AttentionCase& c) {
  AttentionInputs in;
  AttentionOptions& options = in.options;
  Dims q_shape{c.batch, c.query_heads(), c.queries, c.d};
  Dims k_shape{c.batch, c.key_heads, c.keys, c.d};
  Dims v_shape{c.batch, c.key_heads, c.keys, c.dv};
  if (c.packed) {
    options.cumulative_query_lengths = cumulative(lengths(c.batch, c.queries, c.seed + 10));
    options.cumulative_key_lengths = cumulative(lengths(c.batch, c.keys, c.seed + 11));
    q_shape = {options.cumulative_query_lengths.back(), c.query_heads(), c.d};
    k_shape = {options.cumulative_key_lengths.back(), c.key_heads, c.d};
    v_shape = {options.cumulative_key_lengths.back(), c.key_heads, c.dv};
  }
  in.q = laid_out(in.q_storage, q_shape, c.memory, c.dtype, c.seed);
  in.k = laid_out(in.k_storage, k_shape, c.memory, c.dtype, c.seed + 1);
  in.v = laid_out(in.v_storage, v_shape, c.memory, c.dtype, c.seed + 2);
  options.precision = c.precision;
  if (c.precision == Precision::bf16) {
    for (Tensor* storage : {&in.q_storage, &in.k_storage, &in.v_storage}) {
      copy(copy_of(*storage, DType::bf16), *storage);
    }
  }

  options.causal = c.causal;
  options.window = {c.window_left, c.window_right};
  switch (c.offset) {
    case CaseOffset::top_left:
      break;
    case CaseOffset::bottom_right:
      options.query_offset = QueryOffset::bottom_right();
      break;
    case CaseOffset::one:
      options.query_offset = 2;
      break;
    case CaseOffset::per_sequence: {
      std::vector<std::int64_t> offsets = lengths(c.batch, c.keys, c.seed + 12);
      for (std::int64_t& offset : offsets) offset -= c.queries / 2;
      options.query_offset = std::move(offsets);
      break;
    }
  }
  if (c.key_lengths && !c.packed) {
    options.key_lengths = lengths(c.batch, c.keys, c.seed + 13);
    std::reverse(options.key_lengths.begin(), options.key_lengths.end());
  }

  // Most keys take part, so that rows have something to do; some rows lose all of theirs.
  if (c.mask != CaseMask::none) {
    Dims shape{c.batch, c.query_heads(), c.queries, c.keys};
    if (c.mask == CaseMask::matrix) shape = {c.queries, c.keys};
    if (c.mask == CaseMask::per_key) shape = {c.batch, 1, 1, c.keys};
    if (c.mask == CaseMask::per_head) shape = {1, c.query_heads(), 1, c.keys};
    in.mask_storage = random_boolean(shape, c.seed + 3, 0.75);
    options.mask = in.mask_storage;
  }
  if (c.bias != CaseBias::none) {
    Dims shape{c.batch, c.query_heads(), c.queries, c.keys};
    if (c.bias == CaseBias::matrix) shape = {c.queries, c.keys};
    if (c.bias == CaseBias::per_key) shape = {1, c.query_heads(), 1, c.keys};
    in.bias_storage = random_normal(shape, c.dtype == DType::f64 ? DType::f64 : DType::f32, c.seed + 4);
    if (c.bias == CaseBias::with_minus_infinity) {
      Tensor holes = random_normal(shape, DType::f64, c.seed + 4);
      std::uint64_t place = 0;
      for (double& value : holes.values<double>()) {
        if (uniform_at(c.seed + 5, place++) < 0.25) value = -std::numeric_limits<double>::infinity();
      }
      in.bias_storage = copy_of(holes, in.bias_storage.dtype());
    }
    options.bias = in.bias_storage;
  }
  if (c.alibi) options.alibi_slopes = numbers(c.query_heads(), 0.05, 0.5, c.seed + 6);
  if (c.sinks) options.sinks = numbers(c.query_heads(), -1, 1, c.seed + 7);
  if (c.softcap) options.softcap = 1.5;
  if (c.dropout) {
    options.dropout = 0.3;
    options.dropout_seed = c.seed + 8;
  }
  // Near the default, so that scores stay near 1 at any d, where the bounds of the tests are meant to hold.
  if (c.own_scale) options.scale = 1.2 / std::sqrt(static_cast<double>(c.d));
  return in;
}

Dims AttentionInputs::output_shape() const {
  Dims shape = q.shape();
  shape[shape.rank() - 1] = v.size(v.rank() - 1);
  return shape;
}

std::string describe(const AttentionCase& c) {
  std::ostringstream text;
  text << name_of(c.dtype);
  if (c.precision) text << " in " << name_of(*c.precision);
  text << (c.packed ? " packed" : "") << " B=" << c.batch << " Hkv=" << c.key_heads << " group=" << c.group
       << " Lq=" << c.queries << " Lk=" << c.keys << " d=" << c.d << " dv=" << c.dv << " causal=" << c.causal
       << " offset=" << kOffsets[static_cast<int>(c.offset)] << " window=(" << c.window_left << ","
       << c.window_right << ") key_lengths=" << c.key_lengths << " mask=" << kMasks[static_cast<int>(c.mask)]
       << " bias=" << kBiases[static_cast<int>(c.bias)] << " alibi=" << c.alibi << " softcap=" << c.softcap
       << " sinks=" << c.sinks << " own_scale=" << c.own_scale << " dropout=" << c.dropout
       << " memory=" << kMemories[static_cast<int>(c.memory)] << " seed=" << c.seed;
  return text.str();
}

}  // namespace attend
