#include "base/scratch.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/large_pages.h"

namespace attend::detail {
namespace {

constexpr std::align_val_t kScratchAlignment{64};
// Of all that a thread keeps; what is more goes back to the system. A batch of 4,096 tokens needs 63 MB in
// MiniLM and 126 MB in BERT-base. Given back after every batch, and cleared by the system when it is touched
// again, it cost a tenth of MiniLM's time.
constexpr std::size_t kMostKept = std::size_t{160} << 20;

struct Piece {
  void* data = nullptr;
  std::size_t bytes = 0;
};

void free_piece(Piece& piece) noexcept {
  ::operator delete(std::exchange(piece.data, nullptr), kScratchAlignment);
  piece.bytes = 0;
}

// The pieces of one thread that are not lent: as many as calls within calls use, those of a pass through a
// model, of its attention and of the three operands of that.
struct Kept {
  std::array<Piece, 8> pieces{};  // empty ones first, then the smaller ones

  ~Kept() {
    for (Piece& piece : pieces) free_piece(piece);
  }

  // The smallest that is large enough, or none.
  Piece take(std::size_t bytes) noexcept {
    for (Piece& piece : pieces) {
      if (piece.data == nullptr || piece.bytes < bytes) continue;
      const Piece taken = std::exchange(piece, {});
      sort();
      return taken;
    }
    return {};
  }

  // The larger ones stay: they are what is dear to get again.
  void put(Piece piece) noexcept {
    if (piece.bytes > kMostKept || piece.bytes <= pieces[0].bytes) return free_piece(piece);
    free_piece(pieces[0]);
    pieces[0] = piece;
    sort();
    std::size_t total = 0;
    for (const Piece& each : pieces) total += each.bytes;
    for (Piece& each : pieces) {
      if (total <= kMostKept) break;
      total -= each.bytes;
      free_piece(each);
    }
  }

 private:
  void sort() noexcept {
    std::ranges::sort(pieces, {}, [](const Piece& piece) { return piece.bytes; });
  }
};
thread_local Kept kept;

}  // namespace

Scratch::Scratch(std::size_t bytes) {
  const Piece piece = kept.take(bytes);
  data_ = piece.data;
  bytes_ = piece.bytes;
  if (data_ != nullptr) return;
  data_ = ::operator new(bytes, kScratchAlignment);
  bytes_ = bytes;
  ask_for_large_pages(data_, bytes);
}

Scratch::~Scratch() { kept.put({data_, bytes_}); }

}  // namespace attend::detail
