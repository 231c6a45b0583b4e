#include "cuda/upload.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cuda/error.h"
#include "cuda/stream.h"

namespace attend::cuda {
namespace {

constexpr int kWriters = 256;

// Arguments of a kernel may have 32,764 bytes. Most tables fit into the small form, which costs less to launch.
template <int kBytes>
struct Piece {
  std::uint64_t words[kBytes / 8];
};

template <int kBytes>
__global__ void write_piece(char* to, const __grid_constant__ Piece<kBytes> piece, int bytes) {
  const auto* const from = reinterpret_cast<const char*>(piece.words);
  const int words = bytes / 8;
  for (int i = threadIdx.x; i < words; i += kWriters) reinterpret_cast<std::uint64_t*>(to)[i] = piece.words[i];
  for (int i = 8 * words + threadIdx.x; i < bytes; i += kWriters) to[i] = from[i];
}

template <int kBytes>
void upload_piece(plugin::Place place, char* to, const char* from, std::size_t bytes) {
  Piece<kBytes> piece;
  std::memcpy(piece.words, from, bytes);
  write_piece<kBytes><<<1, kWriters, 0, stream_of(place)>>>(to, piece, static_cast<int>(bytes));
  check(cudaGetLastError(), "upload a table");
}

}  // namespace

void upload(plugin::Place place, void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t kSmall = 1024, kLarge = 32000;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t now = std::min(bytes - done, kLarge);
    const auto piece = now <= kSmall ? upload_piece<kSmall> : upload_piece<kLarge>;
    piece(place, static_cast<char*>(to) + done, static_cast<const char*>(from) + done, now);
    done += now;
  }
}

}  // namespace attend::cuda
