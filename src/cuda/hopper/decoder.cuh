// What a warp that computes does with tiles of keys and values: scores by mma.sync, options, softmax as it goes, sums
// of values, and what a piece gave each row. Keys are the rows of the first product and columns of values those of the
// second, so that 8 rows of queries are its columns and nothing is padded to 16. Sums of a row are made by the same
// operations, rounded one by one, whether it is one of 8 or of 16.
#pragma once

#include <type_traits>

#include "cuda/hopper/decode_fetch.cuh"
#include "cuda/hopper/matrix_instructions.cuh"
#include "cuda/hopper/matrix_loads.h"
#include "cuda/hopper/strange.h"

namespace attend::cuda {

// A warp and the piece that its block is at. Rows are columns of products, 8 a product: each lane has two (r = 0, 1) of
// each of kProducts.
template <class T, class Shape, int kProducts>
struct Decoder {
  static constexpr int kKeys = Shape::kKeys, kTile = Shape::kTile, kD = Shape::kD, kThreads = Shape::kWarps * 32,
                       kRows = 8 * kProducts;
  static constexpr ExponentBits kExponents = std::is_same_v<T, __half> ? kF16Exponents : kBf16Exponents;

  const DecodeParameters& p;
  DecodeMemory<Shape>& memory;
  const int lane;
  std::int32_t sequence = -1, head_and_part = 0;  // whose rows are in q: none yet. The rest is in memory.item.
  std::uint32_t q[kProducts][kD / 16][2];
  float o[kProducts][kD / 16][4], s[kProducts][kKeys / 16][4], largest[kProducts][2], sum[kProducts][2];

  __device__ Decoder(const DecodeParameters& parameters, DecodeMemory<Shape>& shared)
      : p(parameters), memory(shared), lane(threadIdx.x % 32) {}

  __device__ void start(const DecodeItem& item) {
    if (threadIdx.x == 0) memory.item = item;  // for store(), which all warps have left
    const std::int32_t mine = item.key_head * p.problem.group + item.part;  // a head has at most that many parts
    if (sequence != item.sequence || head_and_part != mine) take_rows(item);
    sequence = item.sequence;
    head_and_part = mine;
#pragma unroll
    for (int t = 0; t < kProducts; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        largest[t][r] = -CUDART_INF_F;
        sum[t][r] = 0;
      }
#pragma unroll
      for (int x = 0; x < kD / 16; ++x) {
#pragma unroll
        for (int e = 0; e < 4; ++e) o[t][x][e] = 0;
      }
    }
  }

  __device__ void take_rows(const DecodeItem& item) {
    const Problem& problem = p.problem;
    const Sequence here = decode_sequence(p, item.sequence);
    const int rows = min(kRows, static_cast<int>(here.queries) * problem.group - item.part * kRows);
    if (threadIdx.x < kRows) {
      memory.row_count = rows;
      const int number = item.part * kRows + min(lane, rows - 1), query = number / problem.group;
      const KeySpan span = decode_visible(p, here).keys_of(query);
      memory.rows[lane] = {query, item.key_head * problem.group + number % problem.group,
                           static_cast<std::int32_t>(span.begin), static_cast<std::int32_t>(span.end)};
    }
    sync();
#pragma unroll
    for (int t = 0; t < kProducts; ++t) {
      const DecodeRow row = memory.rows[t * 8 + lane / 4];
      const std::uint16_t* const from = reinterpret_cast<const std::uint16_t*>(
          Head::row_of(problem.q, item.sequence, row.head, here.query_begin + row.query));
      const auto take = [&](auto pair_at) {
#pragma unroll
        for (int step = 0; step < kD / 16; ++step) {
#pragma unroll
          for (int half = 0; half < 2; ++half) q[t][step][half] = pair_at(step * 16 + half * 8 + lane % 4 * 2);
        }
      };
      if (p.pairs_of_queries != 0) {
        take([&](int column) {
          return column < problem.d ? *reinterpret_cast<const std::uint32_t*>(from + column) : 0u;
        });
      } else {
        take([&](int column) {
          const std::uint32_t low = column < problem.d ? from[column * problem.q.element] : 0u;
          const std::uint32_t high = column + 1 < problem.d ? from[(column + 1) * problem.q.element] : 0u;
          return low | high << 16;
        });
      }
    }
  }

  __device__ __forceinline__ DecodeRow row_of(int t, int r) const {
    return memory.rows[t * 8 + product_column(lane, r)];
  }

  // Of the warps that compute.
  __device__ __forceinline__ void sync() const { asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory"); }

  // tile: where the warp's own keys begin.
  __device__ __forceinline__ void multiply_keys(std::uint32_t tile) {
#pragma unroll
    for (int t = 0; t < kProducts; ++t) {
#pragma unroll
      for (int x = 0; x < kKeys / 16; ++x) {
#pragma unroll
        for (int e = 0; e < 4; ++e) s[t][x][e] = 0;
      }
    }
#pragma unroll
    for (int step = 0; step < kD / 16; ++step) {
#pragma unroll
      for (int x = 0; x < kKeys / 16; ++x) {
        std::uint32_t keys[4];
        load_matrices(keys, tile + swizzled_bytes(key_matrix_row(lane, x, step), kTile));
#pragma unroll
        for (int t = 0; t < kProducts; ++t) multiply_add(T{}, s[t][x], keys, q[t][step][0], q[t][step][1]);
      }
    }
  }

  // What the options make of the scores, in powers of 2, as forward.cuh does.
  __device__ __forceinline__ void apply_options(int first_key, bool hides) {
    const Problem& problem = p.problem;
    if (problem.softcap != 0) {
      const float inner = problem.scale * (2 * kDecodeLog2e) / problem.softcap, cap = problem.softcap * kDecodeLog2e;
      for_each([&](float& score) {
        const float e = exp2_unit(fminf(__fmul_rn(score, inner), 80.f));
        score = __fsub_rn(cap, __fdividef(2 * cap, __fadd_rn(1.f, e)));
      });
    } else {
      for_each([&](float& score) { score = __fmul_rn(score, p.log2_scale); });
    }
    if (problem.slopes != nullptr) {
      const std::int64_t offset = decode_sequence(p, sequence).query_offset - first_key;
      for_each_row([&](int t, int r) {
        const DecodeRow row = row_of(t, r);
        const float slope = problem.slopes[row.head] * kDecodeLog2e, position = static_cast<float>(row.query + offset);
        for_row(t, r, [&](float& score, int key) {
          score = fmaf(-slope, fabsf(position - static_cast<float>(key)), score);
        });
      });
    }
    if (problem.bias.data != nullptr) {
      look_up(problem.bias, first_key, [](float& score, float bias) {
        score = bias == -CUDART_INF_F ? -CUDART_INF_F : fmaf(bias, kDecodeLog2e, score);
      });
    }
    if (problem.mask.data != nullptr)
      look_up(problem.mask, first_key, [](float& score, float mask) { score = mask != 0 ? score : -CUDART_INF_F; });
    if (hides) {
      for_each_row([&](int t, int r) {
        const DecodeRow row = row_of(t, r);
        for_row(t, r, [&](float& score, int key) {
          if (first_key + key < row.begin || first_key + key >= row.end) score = -CUDART_INF_F;
        });
      });
    }
  }

  template <class Use>
  __device__ __forceinline__ void for_each_row(Use use) {
#pragma unroll
    for (int t = 0; t < kProducts; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) use(t, r);
    }
  }
  // Scores of a row, each with its key, counted from the warp's first.
  template <class Use>
  __device__ __forceinline__ void for_row(int t, int r, Use use) {
#pragma unroll
    for (int x = 0; x < kKeys / 16; ++x) {
#pragma unroll
      for (int half = 0; half < 2; ++half) use(s[t][x][2 * half + r], x * 16 + product_row(lane, 2 * half));
    }
  }
  template <class Use>
  __device__ __forceinline__ void for_each(Use use) {
    for_each_row([&](int t, int r) { for_row(t, r, [&](float& score, int) { use(score); }); });
  }
  template <class Use>
  __device__ __forceinline__ void look_up(const PlacedBroadcast& from, int first_key, Use use) {
    for_each_row([&](int t, int r) {
      const DecodeRow row = row_of(t, r);
      const std::int64_t at = sequence * from.sequence + row.head * from.head + row.query * from.row;
      for_row(t, r, [&](float& score, int column) {
        const std::int64_t key = first_key + column;
        if (key < row.begin || key >= row.end) return;
        use(score, from.number == Number::boolean ? static_cast<float>(from.data[at + key * from.element] != 0)
                                                  : load_float(from.data, from.number, at + key * from.element));
      });
    });
  }

  // s becomes weights relative to the largest score so far, and what came before is brought to that.
  __device__ __forceinline__ void softmax() {
    float alpha[kProducts][2];
    bool changed = false;
    for_each_row([&](int t, int r) {
      float most = largest[t][r];
      for_row(t, r, [&](float& score, int) { most = fmaxf(most, score); });
#pragma unroll
      for (int step = 4; step < 32; step *= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
      const bool none = most == -CUDART_INF_F;
      alpha[t][r] = none ? 1.f : exp2_unit(largest[t][r] - most);
      changed = changed || alpha[t][r] != 1.f;
      largest[t][r] = most;
      const float shift = none ? 0.f : most;
      float added = 0;
      for_row(t, r, [&](float& score, int) {
        score = exp2_unit(__fsub_rn(score, shift));
        added = __fadd_rn(added, score);
      });
      sum[t][r] = fmaf(sum[t][r], alpha[t][r], added);
    });
    // A product by 1 changes nothing, so it may be left out.
    if (__any_sync(~0u, changed)) {
#pragma unroll
      for (int t = 0; t < kProducts; ++t) {
#pragma unroll
        for (int x = 0; x < kD / 16; ++x) {
#pragma unroll
          for (int e = 0; e < 4; ++e) o[t][x][e] *= alpha[t][e % 2];
        }
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
      std::uint32_t weights[kProducts][2];
#pragma unroll
      for (int t = 0; t < kProducts; ++t) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          weights[t][half] = turned(packed(T{}, s[t][step][2 * half], s[t][step][2 * half + 1]));
      }
#pragma unroll
      for (int x = 0; x < kD / 16; ++x) {
        std::uint32_t columns[4];
        load_matrices_turned(columns, tile + swizzled_bytes(value_matrix_row(lane, step, x), kTile));
        if constexpr (kGuard) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            strange |= strange_halves(columns[e], kExponents);
            columns[e] = without_strange(columns[e], kExponents);
          }
        }
#pragma unroll
        for (int t = 0; t < kProducts; ++t) multiply_add(T{}, o[t][x], columns, weights[t][0], weights[t][1]);
      }
    }
    if constexpr (kGuard) {
      if (__any_sync(~0u, strange != 0)) add_strange(values, first_key);
    }
  }
  __device__ __forceinline__ void add_strange(const char* values, int first_key) {
    const Problem& problem = p.problem;
    for_each_row([&](int t, int r) {
      const DecodeRow row = row_of(t, r);
      const Head at(problem, sequence, row.head);
#pragma unroll 1
      for (int key = 0; key < kKeys; ++key) {
        const std::int64_t j = first_key + key;
        if (j < row.begin || j >= row.end || !at.takes_part(problem, row.query, j)) continue;
        // Registers have no index: every one asks whether it is meant. Rare enough, and it takes none of them.
#pragma unroll 1
        for (int eighth = 0; eighth < kD / 8; ++eighth) {
          const float value = load_float(values + swizzled_bytes({key, eighth}, kTile), problem.v.number, lane / 4);
          if (isfinite(value)) continue;
#pragma unroll
          for (int y = 0; y < kD / 8; ++y) {
            if (eighth == y) o[t][y / 2][y % 2 * 2 + r] += value;
          }
        }
      }
    });
  }

  // What the piece gave each row: the warps' sums in their order.
  __device__ void store() {
    const int rows = memory.row_count;  // now: once all have met for the last time, the next piece may change it
    for_each_row([&](int t, int r) {
#pragma unroll
      for (int step = 4; step < 32; step *= 2) sum[t][r] += __shfl_xor_sync(~0u, sum[t][r], step);
      if (lane < 4) memory.state[threadIdx.x / 32][t * 8 + product_column(lane, r)] = make_float2(largest[t][r], sum[t][r]);
    });
#pragma unroll
    for (int first = 0; first < kRows; first += kRowsTogether) {
      if (first >= rows) break;
      const int mine = product_column(lane, 0) - first % 8;
      if (mine >= 0 && mine < kRowsTogether) {
#pragma unroll
        for (int x = 0; x < kD / 16; ++x) {
#pragma unroll
          for (int e = 0; e < 4; ++e) memory.sums[threadIdx.x / 32][mine + e % 2][x * 16 + product_row(lane, e)] = o[first / 8][x][e];
        }
      }
      sync();
      for (int index = static_cast<int>(threadIdx.x); index < kRowsTogether * kD / 2; index += kThreads) {
        const int row = index / (kD / 2), pair = index % (kD / 2);
        if (first + row < rows) add_up(first, row, pair);
      }
      sync();
    }
  }
  // Two columns of one of the rows that are put together now.
  __device__ __forceinline__ void add_up(int first, int row, int pair) {
    float2 value = {0, 0};
    float most = -CUDART_INF_F, total = 0;
#pragma unroll
    for (int w = 0; w < Shape::kWarps; ++w) most = fmaxf(most, memory.state[w][first + row].x);
    const float shift = most == -CUDART_INF_F ? 0.f : most;
#pragma unroll
    for (int w = 0; w < Shape::kWarps; ++w) {
      const float2 state = memory.state[w][first + row];
      const float weight = exp2_unit(state.x - shift);
      const float2 part = *reinterpret_cast<const float2*>(memory.sums[w][row] + 2 * pair);
      total = fmaf(weight, state.y, total);
      value.x = fmaf(weight, part.x, value.x);
      value.y = fmaf(weight, part.y, value.y);
    }
    const DecodeItem item = memory.item;
    const int number = item.part * kRows + first + row, group = p.problem.group;
    const std::int64_t at =
        p.row(item.sequence, item.key_head * group + number % group, number / group) * p.pieces + item.piece;
    *reinterpret_cast<float2*>(p.sums + at * kD + 2 * pair) = value;
    if (pair == 0) p.state[at] = make_float2(most, total);
  }
};

}  // namespace attend::cuda
