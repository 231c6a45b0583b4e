// A learned bias for each bucket of distances (Raffel et al. 2020), as T5 and MPNet use it.
#include <attend/positions.h>
#include <attend/reference.h>

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/rows.h"
#include "nn/host_operations.h"

namespace attend {
namespace {

// What the distances of one direction share: `count` buckets, of which the first `exact` hold one distance
// each.
struct Side {
  std::int64_t count = 0, exact = 0;
};

Side side_of(const char* operation, const RelativeBuckets& shape) {
  const std::int64_t least = shape.bidirectional ? 4 : 2;
  if (shape.buckets < least) {
    refuse(operation, "expected at least ", least, shape.bidirectional ? " bidirectional" : " one-sided",
           " buckets, got ", shape.buckets);
  }
  const std::int64_t count = shape.bidirectional ? shape.buckets / 2 : shape.buckets;
  const Side side{count, count / 2};
  if (shape.max_distance <= side.exact) {
    refuse(operation, "max_distance is ", shape.max_distance, ", expected more than the ", side.exact,
           " distances that have a bucket each");
  }
  return side;
}

// In f32, and every operation rounded, because checkpoints were trained so: where a border falls on a whole
// distance (36, with 48 one-sided buckets up to 81), exact arithmetic chooses the other bucket. The logarithm
// is the correctly rounded one, which PyTorch's agreed with at every distance tried; NumPy's does not.
std::int64_t far_bucket(std::int64_t distance, const Side& side, std::int64_t max_distance) {
  const auto exact = static_cast<float>(side.exact);
  const auto log_ratio =
      static_cast<float>(std::log(static_cast<double>(static_cast<float>(distance) / exact)));
  const auto log_range =
      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(side.exact)));
  const float further = log_ratio / log_range * static_cast<float>(side.count - side.exact);
  const std::int64_t last = side.count - 1 - side.exact;
  return side.exact + (further < static_cast<float>(last) ? static_cast<std::int64_t>(further) : last);
}

// Hugging Face's T5 takes key - query and puts keys after the query into the upper half; MPNet changes the
// sign (n = query - key) and puts n < 0 there, which is the same bucket for the same pair.
std::int64_t bucket_of(std::int64_t key_minus_query, const Side& side, const RelativeBuckets& shape) {
  const bool after = key_minus_query > 0;
  std::int64_t distance = 0;
  if (!after) {
    distance = key_minus_query == std::numeric_limits<std::int64_t>::min()
                   ? std::numeric_limits<std::int64_t>::max()
                   : -key_minus_query;
  } else if (shape.bidirectional) {
    distance = key_minus_query;
  }  // one-sided: every key after the query shares bucket 0
  const std::int64_t bucket =
      distance < side.exact ? distance : far_bucket(distance, side, shape.max_distance);
  return after && shape.bidirectional ? side.count + bucket : bucket;
}

Side check_buckets(const char* operation, std::int64_t query_offset, const RelativeBuckets& shape) {
  const Side side = side_of(operation, shape);
  constexpr std::int64_t kMostOffset = std::int64_t{1} << 62;  // keeps the differences within 64 bits
  if (query_offset < -kMostOffset || query_offset > kMostOffset) {
    refuse(operation, "query_offset ", query_offset, " is out of range");
  }
  return side;
}

// The buckets of all the distances between queries and keys: query i and key j have [j - i + queries - 1].
std::vector<std::int64_t> buckets_between(const char* operation, std::int64_t queries, std::int64_t keys,
                                          std::int64_t query_offset, const RelativeBuckets& shape) {
  const Side side = check_buckets(operation, query_offset, shape);
  std::vector<std::int64_t> buckets(
      static_cast<std::size_t>(queries == 0 || keys == 0 ? 0 : queries + keys - 1));
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    buckets[i] = bucket_of(static_cast<std::int64_t>(i) - (queries - 1) - query_offset, side, shape);
  }
  return buckets;
}

void require_table(const char* operation, const NamedView& table, const NamedView& bias,
                   const RelativeBuckets& shape) {
  require_floats(operation, bias, 3, 3);
  require_floats(operation, table, 2, 2);
  require_shape(operation, table, {shape.buckets, bias.view.size(0)});
}

}  // namespace

std::int64_t relative_bucket(std::int64_t key_minus_query, const RelativeBuckets& shape) {
  return bucket_of(key_minus_query, side_of("relative_bucket", shape), shape);
}

void relative_bias(ConstTensorView table, const RelativeBuckets& shape, std::int64_t query_offset,
                   TensorView out) {
  constexpr const char* kOperation = "relative_bias";
  require_table(kOperation, {"table", table}, {"out", out}, shape);
  require_dtype_of(kOperation, {"out", out}, {"table", table});
  require_writable(kOperation, {"out", out}, {{"table", table}});
  check_buckets(kOperation, query_offset, shape);
  on_device(kOperation, &Operations::relative_bias, {{"table", table}, {"out", out}})(table, shape,
                                                                                      query_offset, out);
}

void host::relative_bias(ConstTensorView table, const RelativeBuckets& shape, std::int64_t query_offset,
                         TensorView out) {
  const std::int64_t queries = out.size(1), keys = out.size(2);
  const auto buckets = buckets_between("relative_bias", queries, keys, query_offset, shape);
  with_float_type("relative_bias", table.dtype(), [&]<class T>(T) {
    const T* const table_data = table.data<T>();
    T* const out_data = out.data<T>();
    for_each_row(row_count(out), keys, [&](std::int64_t row, int) noexcept {
      const T* const column = table_data + row / queries * table.stride(1);
      const std::int64_t* const bucket = buckets.data() + (queries - 1 - row % queries);
      T* const to = out_data + row_offset(out, row);
      for (std::int64_t j = 0; j < keys; ++j) to[j * out.stride(2)] = column[bucket[j] * table.stride(0)];
    });
  });
}

void reference::relative_bias_backward(ConstTensorView d_bias, const RelativeBuckets& shape,
                                       std::int64_t query_offset, TensorView d_table) {
  constexpr const char* kOperation = "relative_bias_backward";
  require_table(kOperation, {"d_table", d_table}, {"d_bias", d_bias}, shape);
  require_writable(kOperation, {"d_table", d_table}, {{"d_bias", d_bias}});
  require_host(kOperation, {{"d_bias", d_bias}, {"d_table", d_table}});
  const std::int64_t heads = d_bias.size(0), queries = d_bias.size(1), keys = d_bias.size(2);
  const auto buckets = buckets_between(kOperation, queries, keys, query_offset, shape);
  Tensor sums(DType::f64, d_table.shape()), row_values(DType::f64, {keys});
  const std::int64_t rows = keys == 0 ? 0 : heads * queries;
  for (std::int64_t row = 0; row < rows; ++row) {
    copy(row_view(d_bias, row), row_values);
    const std::int64_t* const bucket = buckets.data() + (queries - 1 - row % queries);
    double* const column = sums.view().data<double>() + row / queries;
    for (std::int64_t j = 0; j < keys; ++j) column[bucket[j] * heads] += row_values.view().data<double>()[j];
  }
  copy(sums, d_table);
}

}  // namespace attend
