// What the weights of every row say, without the matrix: which keys each query looks at most, how much each
// key is looked at, how spread out each row is, and the whole matrix as a small map.
//
// Exact, from one pass over tiles of scores, O(n) memory besides the results. With the row state that
// attention() stored, the pass needs one product; without it the state is computed first, which takes one
// more.
#pragma once

#include <cstdint>

#include <attend/attention.h>

namespace attend {

enum class MapReduction : std::uint8_t { max, mean };

// What is wanted. 0 or false = not this one.
struct WeightsRequest {
  std::int64_t top_k = 0;                      // the keys of largest weight in each row
  bool received = false;                       // how much attention each key receives
  bool entropy = false;                        // of each row
  std::int64_t map_rows = 0, map_columns = 0;  // both or neither
  MapReduction map_reduction = MapReduction::mean;
};

// Those that were not asked for have no elements. f32, or f64 when q is f64.
struct WeightsSummary {
  // Dense (B, Hq, Lq, K), packed (total_q, Hq, K). Best first, ordered by the biased score, equal scores by
  // the lower key. Where a row has fewer than K keys that take part: key -1, weight 0. A row whose weights
  // are NaN has no order: key -1, weight NaN throughout.
  Tensor top_keys;     // i64
  Tensor top_weights;  // their weights

  // Dense (B, Hq, Lk), packed (total_k, Hq): sum over the queries of weights_ij.
  Tensor received;

  // Dense (B, Hq, Lq), packed (total_q, Hq): -sum_j w ln w, in nats, 0 ln 0 being 0. A row without keys: 0.
  // With a sink the weights of a row add up to less than 1 and are taken as they are.
  Tensor entropy;

  // (B or sequences, Hq, rows R, columns C): cell (r, c) is the mean or the maximum of the weights of queries
  // [first(r, Lq, R), last) and keys [first(c, Lk, C), last), where first(r, L, R) = floor(r L / R) and last
  // = max(first(r, L, R) + 1, first(r + 1, L, R)). So when R <= L the cells divide the axis; when R > L each
  // shows one index, and indices repeat. Keys that take no part count as weight 0. L and their masks are
  // those of the sequence; without queries or keys cells are 0.
  Tensor map;
};

// q, k and options as for attention(). row_state: as attention() wrote it for the same q, k and options, or
// not given. The merged state of several parts of the keys serves for each part.
WeightsSummary summarize_weights(ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
                                 const WeightsRequest& request, ConstRowStateView row_state = {});

}  // namespace attend
