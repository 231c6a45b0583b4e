// An attention call as kernels read it: addresses, strides and numbers, passed by value. What has an entry
// for each sequence or head is uploaded first.
#pragma once

#include <cuda_runtime.h>

#include <climits>

#include "cuda/scratch.h"
#include "cuda/visibility.h"
#include "plugin/cuda_table.h"

namespace attend::cuda {

using plugin::Number;
using plugin::Sequence;

// A tensor over (sequence, head, row, element); a packed one has no stride from sequence to sequence.
struct Placed {
  char* data = nullptr;
  Number number = Number::f32;
  std::int64_t sequence = 0, head = 0, row = 0, element = 0;  // strides
};

// Over (sequence, head, query, key), 0 where it is broadcast.
using PlacedBroadcast = Placed;

struct Problem {
  Placed q, k, v;
  PlacedBroadcast mask, bias;  // no data: none
  std::int32_t heads = 0, group = 1, packed = 0;
  std::int64_t d = 0, dv = 0;
  Sequence same;                   // of every sequence,
  const Sequence* each = nullptr;  // or one for each
  const float* slopes = nullptr;   // one for each head, or null
  const float* sinks = nullptr;
  float scale = 1, softcap = 0;
  float kept = 1;  // what dropout multiplies the others with
  std::int32_t coin_threshold = INT32_MIN;
  std::uint64_t dropout_seed = 0;
  std::int64_t window_left = -1, window_right = -1;
  std::int32_t causal = 0;
  std::int64_t few = 0;  // sequences of up to so many queries are another kernel's

  __host__ __device__ bool drops() const { return coin_threshold != INT32_MIN; }
};

int size_of(Number number);
Placed placed(const plugin::View& view, bool packed);  // q, k, v, out; a row state has no element axis
PlacedBroadcast broadcast(const plugin::View& view);

// Owns what was uploaded, in the order of the stream.
class UploadedProblem {
 public:
  UploadedProblem(plugin::Place place, const plugin::Attention& call);
  const Problem& get() const { return problem_; }

 private:
  Problem problem_;
  Scratch memory_;
};

}  // namespace attend::cuda
