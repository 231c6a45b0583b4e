// What libattend_cuda.so offers: one table of functions over plain structs. Both sides are compiled from this
// file, by two compilers, and may be of different ages: the version says whether they agree. A change of
// anything here is a new version.
//
// Pointers to elements are addresses of the device; sequences, slopes, sinks and lists are on the host and
// are read before a function returns. Everything that computes is only put onto the stream, which a graph may
// be captured from; copies from and to the host are complete when they return.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attend::plugin {

inline constexpr std::uint32_t kTableVersion = 2;
inline constexpr char kEntryName[] = "attend_cuda_table";

enum class Number : std::int32_t { f32, f64, bf16, f16, boolean, i64 };  // numbered as DType is

// Elements, strides counted in elements. No data: not given, or empty.
struct View {
  void* data = nullptr;
  Number number = Number::f32;
  std::int32_t rank = 0;
  std::int64_t shape[4] = {}, strides[4] = {};
};

// Where something is computed. The stream is a cudaStream_t; null is the device's own, 1 and 2 are CUDA's
// numbers for that one and for the thread's.
struct Place {
  std::int32_t device = 0;
  void* stream = nullptr;
};

inline constexpr std::int32_t kHost = -1;  // as the device of a copy

struct Sequence {
  std::int64_t query_begin = 0, key_begin = 0;  // packed: first rows; dense: 0
  std::int64_t queries = 0, keys = 0;
  std::int64_t key_count = 0;  // keys that exist
  std::int64_t query_offset = 0;
};

// A checked call: q (B, Hq, Lq, D), k and v likewise, or packed (total, H, D). mask and bias are aligned with
// (sequence, head, query, key) from the right.
struct Attention {
  View q, k, v, mask, bias;
  std::int32_t packed = 0, causal = 0;
  std::int64_t query_heads = 0, key_heads = 0, d = 0, dv = 0;
  std::int64_t longest_queries = 0, longest_keys = 0;
  std::int64_t window_left = -1, window_right = -1;
  double scale = 1, softcap = 0, dropout = 0;
  std::uint64_t dropout_seed = 0;
  const Sequence* sequences = nullptr;
  std::int64_t sequence_count = 0;
  const double* alibi_slopes = nullptr;  // one for each query head, or null
  const double* sinks = nullptr;
};

// Both or neither. Shaped as q is, without its last axis.
struct RowState {
  View max, sum;
};

struct Indices {
  const std::int64_t* list = nullptr;  // null: all of them, in order
  std::int64_t count = 0;
};

// out: (sequences, heads, rows, longest keys).
struct Rows {
  std::int32_t stage = 0;  // numbered as Stage is
  Indices sequences, heads, rows;
  View out;
};

// Those that are wanted have data.
struct Summary {
  View top_keys, top_weights, received, entropy, map;
  std::int64_t top_k = 0, map_rows = 0, map_columns = 0;
  std::int32_t map_is_max = 0;
};

// Of attention_backward(); those that are wanted have data. alibi_slopes and sinks: one for each query head.
struct Gradients {
  View q, k, v, bias, alibi_slopes, sinks;
};

inline constexpr int kNoMemory = 2;

// Functions that return int give 0 when all went well; otherwise last_error() has the rest of a sentence that
// begins with the operation, of this thread, until its next call. kNoMemory: for want of memory.
struct Table {
  std::uint32_t version = kTableVersion;
  std::uint32_t bytes = sizeof(Table);
  const char* (*last_error)();

  // How many devices there are that this library can use; 0 with a reason in last_error().
  std::int32_t (*device_count)();
  int (*describe)(std::int32_t device, char* text,
                  std::size_t size);  // "NVIDIA H200, compute capability 9.0"

  int (*allocate)(Place place, std::size_t bytes, void** memory);  // zeroed; 64-byte aligned
  void (*release)(Place place, void* memory);
  int (*copy_bytes)(Place place, void* to, std::int32_t to_device, const void* from, std::int32_t from_device,
                    std::size_t bytes);
  int (*copy)(Place place, const View& from, const View& to);  // on one device, converting
  int (*fill)(Place place, const View& out, double value);

  void (*attention_kernel)(Place place, const Attention& call, const char** name, const char** why);
  int (*attention)(Place place, const Attention& call, const View& out, const RowState& state);
  int (*attention_rows)(Place place, const Attention& call, const RowState& state, const Rows& rows);
  int (*summarize_weights)(Place place, const Attention& call, const RowState& state, const Summary& summary);
  int (*attention_backward)(Place place, const Attention& call, const View& out, const RowState& state,
                            const View& d_out, const Gradients& gradients);
  int (*log_sum_exp)(Place place, const RowState& state, const View& out);
  int (*merge_attention)(Place place, const View& out_a, const RowState& a, const View& out_b,
                         const RowState& b, const View& out, const RowState& state);
  int (*synchronize)(Place place);                   // until everything on the stream is done
  int (*wait_for_stream)(Place place, void* other);  // what comes next waits for what the other has now
};

// The one symbol that is looked up. Null: the plugin does not have that version.
using Entry = const Table*(std::uint32_t version);

}  // namespace attend::plugin
