// What the inputs of an attention call amount to, once they have been found to make sense: heads, sizes, and
// for each sequence where its rows are and at which position its queries begin. Dense batches and packed
// sequences look the same from here on.
#pragma once

#include <attend/attention.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/check.h"

namespace attend::detail {

struct SequenceLayout {
  std::int64_t query_begin = 0;  // packed: first row in q; dense: 0
  std::int64_t key_begin = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;       // rows of k that belong to the sequence
  std::int64_t key_count = 0;  // those that exist: key_lengths may shorten
  std::int64_t query_offset = 0;
  // Of the whole sequence, where `queries` is a part of it that one of several processes has: the kernel
  // follows from this number.
  std::int64_t whole_queries = queries;
};

struct Layout {
  bool packed = false;
  bool int8_rows =
      false;  // keys and values are rows of kernels/attention/int8_row.h, which views of f32 point to
  std::int64_t query_heads = 0, key_heads = 0;
  std::int64_t d = 0, dv = 0;  // dv is 0 when no value is given
  double scale = 1;
  Precision precision = Precision::f32;  // of the products; f64 queries have theirs
  Window window{};
  std::vector<SequenceLayout> sequences;
  std::int64_t longest_queries = 0, longest_keys = 0;
};

// The type in which queries of a type are computed: f32, and f64 for itself.
constexpr DType computing_type(DType query) noexcept { return query == DType::f64 ? DType::f64 : DType::f32; }

// Which types k and v may have: the query's, or any that is computed in the same one.
enum class StoredAs { the_query, anything_computed_alike };

// Refuses, with a sentence that begins with [operation], whatever has no meaning. v may be not given.
Layout check_attention(const char* operation, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, StoredAs stored = StoredAs::the_query);

// Carries out a call that was checked: checks the outputs, then picks the kernels.
void run_attention(const char* operation, const Layout& layout, ConstTensorView q, ConstTensorView k,
                   ConstTensorView v, const AttentionOptions& options, TensorView out,
                   RowStateView row_state);

// A row state is given whole or not at all, is writable, and overlaps none of the inputs.
void check_row_state(const char* operation, RowStateView row_state, const Dims& shape,
                     std::initializer_list<NamedView> inputs = {});

// A row state that was kept for these queries: whole or not at all, of their rows, in the type that computes.
void check_given_row_state(const char* operation, ConstRowStateView row_state, ConstTensorView q,
                           DType computes_in);

}  // namespace attend::detail
