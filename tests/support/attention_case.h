// One attention call, described by a handful of knobs: the same description serves the numerics grid, the
// properties, the gradients and the fuzzer.
#pragma once

#include <attend/attention.h>

#include <cstdint>
#include <optional>
#include <string>

namespace attend {

enum class CaseOffset { top_left, bottom_right, one, per_sequence };
enum class CaseMask { none, full, matrix, per_key, per_head };
enum class CaseBias { none, full, matrix, per_key, with_minus_infinity };
enum class CaseMemory { row_major, heads_inside, every_other, backwards };

struct AttentionCase {
  std::int64_t batch = 1;
  std::int64_t key_heads = 1;
  std::int64_t group = 1;  // query heads per key head
  std::int64_t queries = 4;
  std::int64_t keys = 4;
  std::int64_t d = 8;
  std::int64_t dv = 8;
  DType dtype = DType::f32;
  std::optional<Precision>
      precision{};  // bf16: q, k and v hold numbers that bf16 can hold, whatever their type
  bool causal = false;
  CaseOffset offset = CaseOffset::top_left;
  std::int64_t window_left = -1;
  std::int64_t window_right = -1;
  bool key_lengths = false;  // ignored when packed
  CaseMask mask = CaseMask::none;
  CaseBias bias = CaseBias::none;
  bool alibi = false;
  bool softcap = false;
  bool sinks = false;
  bool own_scale = false;
  bool dropout = false;
  bool packed = false;  // `batch` sequences of different lengths up to queries, keys
  CaseMemory memory = CaseMemory::row_major;
  std::uint64_t seed = 1;

  std::int64_t query_heads() const { return key_heads * group; }
};

std::string describe(const AttentionCase& c);

// The tensors and options of a case. Views point into the storage, so it is moved, never copied.
struct AttentionInputs {
  Tensor q_storage, k_storage, v_storage, mask_storage, bias_storage;
  ConstTensorView q, k, v;
  AttentionOptions options;

  Dims output_shape() const;
  Tensor output(DType dtype) const { return Tensor(dtype, output_shape()); }
};

AttentionInputs make_inputs(const AttentionCase& c);

}  // namespace attend
