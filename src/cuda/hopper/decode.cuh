// Few queries on many keys: memory is what this takes, so every byte of K and V is read once. The rows of a
// product are the queries of a sequence times the heads that share a key head, padded to 16. A warp takes a piece
// of the keys on its own: it fetches tiles by TMA, several ahead and on into its next piece, multiplies by
// mma.sync, and leaves a sum of values, a largest score and a sum of weights. A second kernel puts the pieces of
// a row together, in an order that only their number decides.
#pragma once

#include <type_traits>

#include "cuda/error.h"
#include "cuda/head.cuh"
#include "cuda/hopper/decode.h"
#include "cuda/hopper/fragments.h"
#include "cuda/hopper/instructions.cuh"
#include "cuda/hopper/strange.h"
#include "cuda/stream.h"

namespace attend::cuda {

inline constexpr float kDecodeLog2e = 1.4426950408889634f, kDecodeLn2 = 0.69314718055994531f;

template <class Shape>
struct DecodeMemory {
  struct Stage {
    alignas(1024) char k[Shape::kTileBytes];
    alignas(1024) char v[Shape::kTileBytes];
  };
  Stage stages[Shape::kWarps][Shape::kStages];
  alignas(16) char q[Shape::kWarps][Shape::kQueryBytes + 16];
  std::uint64_t full[Shape::kWarps][Shape::kStages];
};

__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_matrices_turned(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void multiply_add(__nv_bfloat16, float* d, const std::uint32_t* a, std::uint32_t b0,
                                             std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
      "%2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply_add(__half, float* d, const std::uint32_t* a, std::uint32_t b0,
                                             std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ Sequence decode_sequence(const DecodeParameters& p, std::int64_t s) {
  return p.problem.each == nullptr ? p.problem.same : p.problem.each[s];
}
__device__ __forceinline__ Visible decode_visible(const DecodeParameters& p, const Sequence& sequence) {
  return {sequence.key_count, sequence.query_offset, p.problem.window_left, p.problem.window_right,
          p.problem.causal != 0};
}
__device__ __forceinline__ DecodeKeys decode_keys(const DecodeParameters& p, const DecodeItem& item) {
  const Sequence sequence = decode_sequence(p, item.sequence);
  if (sequence.queries > kMostDecodedQueries) return {};
  return DecodeKeys::of(decode_visible(p, sequence), sequence.queries, p.problem.group, item.part, item.piece);
}

// The pieces of one warp, in order. Sequences have different lengths, so 32 numbers are looked at side by side and those without work are passed over.
template <class Shape>
struct DecodeQueue {
  std::uint32_t found = 0;
  std::int32_t next = 0;  // 32 of this warp's numbers at a time

  __device__ std::int32_t number(std::int32_t turn) const {
    const std::int64_t index = DecodeItems::number(turn, threadIdx.x / 32, Shape::kWarps, blockIdx.x, gridDim.x);
    return static_cast<std::int32_t>(index < INT32_MAX ? index : INT32_MAX);
  }
  __device__ bool pop(const DecodeParameters& p, DecodeItem& item) {
    while (found == 0) {
      if (number(next) >= p.items.total()) return false;
      const std::int32_t mine = number(next + threadIdx.x % 32);
      const bool some = mine < p.items.total() && !decode_keys(p, p.items.at(mine)).empty();
      found = __ballot_sync(~0u, some);
      next += 32;
    }
    const int bit = __ffs(static_cast<int>(found)) - 1;
    found &= found - 1;
    item = p.items.at(number(next - 32 + bit));
    return true;
  }
};

// Fetches the tiles of a warp's pieces, one call after the other.
template <class Shape>
struct DecodeFetcher {
  DecodeQueue<Shape> queue;
  DecodeItem item;
  std::int32_t tile = 0, end = 0, key_begin = 0;
  int stage = 0;

  __device__ void fetch(const DecodeParameters& p, DecodeMemory<Shape>& memory, int warp, int lane) {
    while (tile >= end) {
      if (!queue.pop(p, item)) return;
      const DecodeKeys keys = decode_keys(p, item);
      tile = keys.first_tile(Shape::kKeys, item.quarter);
      end = keys.tile_end(Shape::kKeys);
      key_begin = static_cast<std::int32_t>(decode_sequence(p, item.sequence).key_begin);
    }
    if (lane == 0) {
      auto& to = memory.stages[warp][stage];
      std::uint64_t* const full = &memory.full[warp][stage];
      const int row = key_begin + tile * Shape::kKeys, sequence = p.problem.packed != 0 ? 0 : item.sequence;
      barrier_expect(full, 2 * Shape::kTileBytes);
#pragma unroll
      for (int c = 0; c < Shape::kChunks; ++c)
        copy_box(to.k + c * Shape::kKeys * kRowBytes, &p.k, full, c * kChunkColumns, row, item.key_head, sequence);
#pragma unroll
      for (int c = 0; c < Shape::kChunks; ++c)
        copy_box(to.v + c * Shape::kKeys * kRowBytes, &p.v, full, c * kChunkColumns, row, item.key_head, sequence);
    }
    tile += kPieceWarps;
    stage = stage + 1 == Shape::kStages ? 0 : stage + 1;
  }
};

// A warp and the piece that it is at. Each lane has two rows (r = 0, 1) of 16.
template <class T, class Shape>
struct Decoder {
  static constexpr int kKeys = Shape::kKeys, kD = Shape::kD;
  static constexpr ExponentBits kExponents = std::is_same_v<T, __half> ? kF16Exponents : kBf16Exponents;

  const DecodeParameters& p;
  char* const queries;  // 16 rows in shared memory, of those shapes that keep them there
  const int lane;
  DecodeItem item;
  std::int32_t query[2], head[2], begin[2], end[2];  // begin, end: the keys that a row sees
  bool exists[2];
  std::uint32_t q[Shape::kQueriesInMemory ? 1 : kD / 16][4];
  float o[kD / 8][4], s[kKeys / 8][4], largest[2], sum[2];

  __device__ Decoder(const DecodeParameters& parameters, char* rows, int l) : p(parameters), queries(rows), lane(l) {}

  __device__ void start(const DecodeItem& at) {
    item = at;
    const Problem& problem = p.problem;
    const Sequence sequence = decode_sequence(p, item.sequence);
    const int rows = static_cast<int>(sequence.queries) * problem.group;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = item.part * kDecodeRows + lane / 4 + 8 * r;
      exists[r] = row < rows;
      query[r] = (exists[r] ? row : rows - 1) / problem.group;
      head[r] = item.key_head * problem.group + (exists[r] ? row : rows - 1) % problem.group;
      const KeySpan span = decode_visible(p, sequence).keys_of(query[r]);
      begin[r] = static_cast<std::int32_t>(span.begin);
      end[r] = static_cast<std::int32_t>(span.end);
      largest[r] = -CUDART_INF_F;
      sum[r] = 0;
      const std::uint16_t* const from = reinterpret_cast<const std::uint16_t*>(
          Head::row_of(problem.q, item.sequence, head[r], sequence.query_begin + query[r]));
#pragma unroll
      for (int step = 0; step < kD / 16; ++step) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int column = step * 16 + operand_column(lane, 2 * half, 0);
          std::uint32_t pair;
          if (p.pairs_of_queries != 0) {
            pair = column < problem.d ? *reinterpret_cast<const std::uint32_t*>(from + column) : 0u;
          } else {
            const std::uint32_t low = column < problem.d ? from[column * problem.q.element] : 0u;
            const std::uint32_t high = column + 1 < problem.d ? from[(column + 1) * problem.q.element] : 0u;
            pair = low | high << 16;
          }
          if constexpr (Shape::kQueriesInMemory) {
            *reinterpret_cast<std::uint32_t*>(queries + swizzled_bytes({lane / 4 + 8 * r, step * 2 + half}, kDecodeRows) +
                                              lane % 4 * 4) = pair;
          } else {
            q[step][2 * half + r] = pair;
          }
        }
      }
    }
#pragma unroll
    for (int x = 0; x < kD / 8; ++x) {
#pragma unroll
      for (int e = 0; e < 4; ++e) o[x][e] = 0;
    }
    __syncwarp();
  }

  __device__ __forceinline__ void multiply_keys(std::uint32_t tile) {
#pragma unroll
    for (int x = 0; x < kKeys / 8; ++x) {
#pragma unroll
      for (int e = 0; e < 4; ++e) s[x][e] = 0;
    }
#pragma unroll
    for (int step = 0; step < kD / 16; ++step) {
      // Rows of queries lie as those of values do, and are not turned.
      if constexpr (Shape::kQueriesInMemory)
        load_matrices(q[0], shared_address(queries) + swizzled_bytes(value_matrix_row(lane, 0, step), kDecodeRows));
      const auto& rows = q[Shape::kQueriesInMemory ? 0 : step];
#pragma unroll
      for (int x = 0; x < kKeys / 16; ++x) {
        std::uint32_t b[4];
        load_matrices(b, tile + swizzled_bytes(key_matrix_row(lane, x, step), kKeys));
        multiply_add(T{}, s[2 * x], rows, b[0], b[1]);
        multiply_add(T{}, s[2 * x + 1], rows, b[2], b[3]);
      }
    }
  }

  // What the options make of the scores, in powers of 2, as forward.cuh does.
  __device__ __forceinline__ void apply_options(int first_key, bool hides) {
    const Problem& problem = p.problem;
    if (problem.softcap != 0) {
      const float inner = problem.scale * (2 * kDecodeLog2e) / problem.softcap, cap = problem.softcap * kDecodeLog2e;
      for_each([&](float& score, int, int) {
        score = cap - __fdividef(2 * cap, 1.f + exp2_unit(fminf(score * inner, 80.f)));
      });
    } else {
      for_each([&](float& score, int, int) { score *= p.log2_scale; });
    }
    if (problem.slopes != nullptr) {
      const std::int64_t offset = decode_sequence(p, item.sequence).query_offset - first_key;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float slope = problem.slopes[head[r]] * kDecodeLog2e, position = static_cast<float>(query[r] + offset);
        for_row(r, [&](float& score, int column) { score -= slope * fabsf(position - static_cast<float>(column)); });
      }
    }
    if (problem.bias.data != nullptr) {
      look_up(problem.bias, first_key, [](float& score, float bias) {
        score = bias == -CUDART_INF_F ? -CUDART_INF_F : fmaf(bias, kDecodeLog2e, score);
      });
    }
    if (problem.mask.data != nullptr)
      look_up(problem.mask, first_key, [](float& score, float mask) { score = mask != 0 ? score : -CUDART_INF_F; });
    if (hides) {
      for_each([&](float& score, int r, int column) {
        if (first_key + column < begin[r] || first_key + column >= end[r]) score = -CUDART_INF_F;
      });
    }
  }

  template <class Use>
  __device__ __forceinline__ void for_row(int r, Use use) {
#pragma unroll
    for (int x = 0; x < kKeys / 8; ++x) {
#pragma unroll
      for (int e = 0; e < 2; ++e) use(s[x][2 * r + e], x * 8 + lane % 4 * 2 + e);
    }
  }
  template <class Use>
  __device__ __forceinline__ void for_each(Use use) {
    for_row(0, [&](float& score, int column) { use(score, 0, column); });
    for_row(1, [&](float& score, int column) { use(score, 1, column); });
  }
  template <class Use>
  __device__ __forceinline__ void look_up(const PlacedBroadcast& from, int first_key, Use use) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t at = item.sequence * from.sequence + head[r] * from.head + query[r] * from.row;
      for_row(r, [&](float& score, int column) {
        const std::int64_t key = first_key + column;
        if (key < begin[r] || key >= end[r]) return;
        use(score, from.number == Number::boolean ? static_cast<float>(from.data[at + key * from.element] != 0)
                                                  : load_float(from.data, from.number, at + key * from.element));
      });
    }
  }

  // s becomes weights relative to the largest score so far, and what came before is brought to that.
  __device__ __forceinline__ void softmax() {
    float alpha[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float a = s[0][2 * r];
      for_row(r, [&](float& score, int) { a = fmaxf(a, score); });
      a = fmaxf(a, __shfl_xor_sync(~0u, a, 1));
      a = fmaxf(a, __shfl_xor_sync(~0u, a, 2));
      const float now = fmaxf(largest[r], a);
      const bool none = now == -CUDART_INF_F;
      alpha[r] = none ? 1.f : exp2_unit(largest[r] - now);
      largest[r] = now;
      const float shift = none ? 0.f : now;
      float added = 0;
      for_row(r, [&](float& score, int) {
        score = exp2_unit(score - shift);
        added += score;
      });
      sum[r] = sum[r] * alpha[r] + added;
    }
    // A product by 1 changes nothing, so it may be left out.
    if (__any_sync(~0u, alpha[0] != 1.f || alpha[1] != 1.f)) {
#pragma unroll
      for (int x = 0; x < kD / 8; ++x) {
#pragma unroll
        for (int e = 0; e < 4; ++e) o[x][e] *= alpha[e / 2];
      }
    }
  }

  // kGuard: a weight of 0 times NaN is NaN, so what is no number is taken as 0 for the product, and added after it
  // for those rows that see its key.
  template <bool kGuard>
  __device__ __forceinline__ void multiply_values(std::uint32_t tile, const char* values, int first_key) {
    std::uint32_t strange = 0;
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      std::uint32_t weights[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) weights[r] = packed(T{}, s[2 * step + r / 2][r % 2 * 2], s[2 * step + r / 2][r % 2 * 2 + 1]);
#pragma unroll
      for (int x = 0; x < kD / 16; ++x) {
        std::uint32_t b[4];
        load_matrices_turned(b, tile + swizzled_bytes(value_matrix_row(lane, step, x), kKeys));
        if constexpr (kGuard) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            strange |= strange_halves(b[e], kExponents);
            b[e] = without_strange(b[e], kExponents);
          }
        }
        multiply_add(T{}, o[2 * x], weights, b[0], b[1]);
        multiply_add(T{}, o[2 * x + 1], weights, b[2], b[3]);
      }
    }
    if constexpr (kGuard) {
      if (__any_sync(~0u, strange != 0)) add_strange(values, first_key);
    }
  }
  __device__ __forceinline__ void add_strange(const char* values, int first_key) {
    const Problem& problem = p.problem;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Head at(problem, item.sequence, head[r]);
#pragma unroll 1
      for (int key = 0; key < kKeys; ++key) {
        const std::int64_t j = first_key + key;
        if (j < begin[r] || j >= end[r] || !at.takes_part(problem, query[r], j)) continue;
        // Registers have no index: every one asks whether it is meant. Rare enough, and it takes none of them.
#pragma unroll 1
        for (int x = 0; x < kD / 8 * 2; ++x) {
          const float value =
              load_float(values + swizzled_bytes({key, x / 2}, kKeys), problem.v.number, lane % 4 * 2 + x % 2);
          if (isfinite(value)) continue;
#pragma unroll
          for (int y = 0; y < kD / 8 * 2; ++y) {
            if (x == y) o[y / 2][2 * r + y % 2] += value;
          }
        }
      }
    }
  }

  // What the piece gave each row.
  __device__ void store() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
      sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
      if (!exists[r]) continue;
      const std::int64_t at = (p.row(item.sequence, head[r], query[r]) * p.items.pieces + item.piece) * kPieceWarps + item.quarter;
      if (lane % 4 == 0) p.state[at] = make_float2(largest[r], sum[r]);
      float* const to = p.sums + at * kD + lane % 4 * 2;
#pragma unroll
      for (int x = 0; x < kD / 8; ++x)
        *reinterpret_cast<float2*>(to + x * 8) = make_float2(o[x][2 * r], o[x][2 * r + 1]);
    }
  }
};

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::kWarps * 32, 1) decode_kernel(const __grid_constant__ DecodeParameters p) {
  extern __shared__ char raw[];
  auto& memory = *reinterpret_cast<DecodeMemory<Shape>*>((reinterpret_cast<std::uintptr_t>(raw) + 1023) &
                                                         ~std::uintptr_t{1023});
  const int warp = uniform(threadIdx.x / 32), lane = threadIdx.x % 32;
  if (lane == 0) {
    for (int i = 0; i < Shape::kStages; ++i) barrier_init(&memory.full[warp][i], 1);
    barriers_ready();
  }
  __syncwarp();
  asm volatile("griddepcontrol.wait;" ::: "memory");  // what comes before may still be writing queries or keys
  DecodeFetcher<Shape> fetcher;
  for (int i = 0; i < Shape::kStages; ++i) fetcher.fetch(p, memory, warp, lane);

  DecodeQueue<Shape> queue;
  DecodeItem item;
  Decoder<T, Shape> decoder(p, memory.q[warp], lane);
  int stage = 0, phase = 0;
  while (queue.pop(p, item)) {
    const DecodeKeys keys = decode_keys(p, item);
    decoder.start(item);
    const bool looks_up = p.problem.mask.data != nullptr || p.problem.bias.data != nullptr;
    const int last = keys.tile_end(Shape::kKeys);
    const int all_begin = static_cast<int>(keys.all_begin), all_end = static_cast<int>(keys.all_end);
#pragma unroll 1
    for (int tile = keys.first_tile(Shape::kKeys, item.quarter); tile < last; tile += kPieceWarps) {
      const int first_key = tile * Shape::kKeys;
      const bool hides = first_key < all_begin || first_key + Shape::kKeys > all_end;
      const auto& here = memory.stages[warp][stage];
      barrier_wait(&memory.full[warp][stage], phase);
      decoder.multiply_keys(shared_address(here.k));
      decoder.apply_options(first_key, hides);
      decoder.softmax();
      if (hides || looks_up) {
        decoder.template multiply_values<true>(shared_address(here.v), here.v, first_key);
      } else {
        decoder.template multiply_values<false>(shared_address(here.v), here.v, first_key);
      }
      __syncwarp();
      fetcher.fetch(p, memory, warp, lane);
      if (++stage == Shape::kStages) {
        stage = 0;
        phase ^= 1;
      }
    }
    decoder.store();
  }
}

// Puts together what the pieces gave a row: a warp for every run of 16, several rows in a block where runs are few.
template <class Shape>
__global__ void __launch_bounds__(kMostRuns * 32) decode_merge_kernel(const __grid_constant__ DecodeParameters p, int runs) {
  extern __shared__ float parts[];  // (warp, kD + 1): sums of values, and of weights
  constexpr int kPairs = Shape::kD / 64, kWidth = Shape::kD + 1;
  const int lane = threadIdx.x % 32, run = threadIdx.x / 32 % runs, first_warp = threadIdx.x / 32 - run;
  const std::int64_t rows = p.row(p.items.sequences, 0, 0);
  const std::int64_t asked = std::int64_t{blockIdx.x} * (blockDim.x / 32 / runs) + threadIdx.x / 32 / runs;
  const std::int64_t row = min(asked, rows - 1);
  const std::int64_t i = row % p.most_queries, h = row / p.most_queries % p.problem.heads,
                     s = row / p.most_queries / p.problem.heads;
  const Sequence sequence = decode_sequence(p, s);
  const bool exists = asked < rows && i < sequence.queries && sequence.queries <= kMostDecodedQueries;
  const KeySpan span = decode_visible(p, sequence).keys_of(i);
  const std::int64_t piece = decode_piece(sequence.key_count);
  const auto first = static_cast<int>(span.begin / piece * kPieceWarps);
  const int count = !exists || span.begin == span.end
                        ? 0
                        : static_cast<int>((span.end + piece - 1) / piece * kPieceWarps) - first;
  const std::int64_t start = row * p.items.pieces * kPieceWarps + first;
  const float2* const state = p.state + start;
  const float sink = p.problem.sinks == nullptr ? -CUDART_INF_F : p.problem.sinks[h];
  asm volatile("griddepcontrol.wait;" ::: "memory");

  float largest = -CUDART_INF_F;
  for (int c = lane; c < count; c += 32) largest = fmaxf(largest, state[c].x);
#pragma unroll
  for (int step = 1; step < 32; step *= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
  const float shift = largest == -CUDART_INF_F ? 0.f : largest;
  float2 added[kPairs] = {};
  float total = 0;
  const float2* const from = reinterpret_cast<const float2*>(p.sums + start * Shape::kD) + lane;
#pragma unroll
  for (int x = 0; x < kRun; ++x) {
    const int c = run * kRun + x;
    if (c >= count) break;
    const float2 at = state[c];
    const float weight = exp2_unit(at.x - shift);
    total = fmaf(weight, at.y, total);
#pragma unroll
    for (int y = 0; y < kPairs; ++y) {
      const float2 value = from[c * (Shape::kD / 2) + y * 32];
      added[y].x = fmaf(weight, value.x, added[y].x);
      added[y].y = fmaf(weight, value.y, added[y].y);
    }
  }
  float* const mine = parts + threadIdx.x / 32 * kWidth;
#pragma unroll
  for (int y = 0; y < kPairs; ++y) {
    mine[(y * 32 + lane) * 2] = added[y].x;
    mine[(y * 32 + lane) * 2 + 1] = added[y].y;
  }
  if (lane == 0) mine[Shape::kD] = total;
  __syncthreads();
  if (!exists) return;

  const float* const all = parts + first_warp * kWidth;
  const int row_runs = (count + kRun - 1) / kRun;
  total = 0;
  for (int w = 0; w < row_runs; ++w) total += all[w * kWidth + Shape::kD];
  float max = largest == -CUDART_INF_F ? largest : largest * kDecodeLn2, factor = 1;
  if (sink > max) {
    factor = exp2_unit((max - sink) * kDecodeLog2e);
    total = total * factor + 1;
    max = sink;
  } else if (sink != -CUDART_INF_F) {
    total += exp2_unit((sink - max) * kDecodeLog2e);
  }
  const float inverse = total == 0 ? 0.f : factor / total;
  const std::int64_t at = sequence.query_begin + i;
  char* const out = const_cast<char*>(Head::row_of(p.target.out, s, h, at));
  for (int column = run * 32 + lane; column < p.problem.dv; column += runs * 32) {
    float value = 0;
    for (int w = 0; w < row_runs; ++w) value += all[w * kWidth + column];
    store_float(out, p.target.out.number, column * p.target.out.element, value * inverse);
  }
  if (run == 0 && lane == 0 && p.target.max.data != nullptr) {
    *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.max, s, h, at))) = isnan(total) ? total : max;
    *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.sum, s, h, at))) = total;
  }
}

// A launch that may get ready while the one before it ends; its kernel waits for that itself.
template <class Kernel, class... Arguments>
void launch_early(plugin::Place place, Kernel kernel, unsigned blocks, int threads, int bytes, const char* doing,
                  const Arguments&... arguments) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), doing);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = is_capturing(place) ? 0 : 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = static_cast<unsigned>(threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
  config.stream = static_cast<cudaStream_t>(place.stream);
  config.attrs = &early;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), doing);
}

template <class Shape>
void launch_decode(plugin::Place place, const DecodeParameters& parameters, int multiprocessors) {
  static_assert(Shape::kWarps % kPieceWarps == 0);
  const std::int64_t pieces = parameters.items.total() / kPieceWarps;
  if (pieces > 0) {
    const auto kernel = parameters.problem.q.number == Number::f16 ? decode_kernel<__half, Shape>
                                                                   : decode_kernel<__nv_bfloat16, Shape>;
    launch_early(place, kernel, static_cast<unsigned>(pieces < multiprocessors ? pieces : multiprocessors),
                 Shape::kWarps * 32, sizeof(DecodeMemory<Shape>) + 1024, "launch decoding", parameters);
  }
  int runs = 1;
  while (runs * kRun < parameters.items.pieces * kPieceWarps) runs *= 2;
  const int rows_of_block = runs < 4 ? 4 / runs : 1, warps = rows_of_block * runs;
  const std::int64_t rows = parameters.row(parameters.items.sequences, 0, 0);
  launch_early(place, decode_merge_kernel<Shape>, static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block),
               warps * 32, warps * (Shape::kD + 1) * static_cast<int>(sizeof(float)), "launch the merging of pieces",
               parameters, runs);
}

}  // namespace attend::cuda
