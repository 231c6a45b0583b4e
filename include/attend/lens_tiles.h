// A map too large to send or to draw at once, as a pyramid of tiles: any 256 × 256 cells of it, at any zoom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include <attend/lens.h>

namespace attend {

inline constexpr std::int64_t kTileCells = 256;  // along a side

// Rollout has no tiles for texts of more tokens than this: it is a product of whole maps, which takes O(n³).
inline constexpr std::int64_t kMostRolledTileTokens = 512;

// A cell stands for low + (high - low) · (cell / top())². Squares, because most weights are small: 0.0001 and
// 0 are different cells of a tile that reaches to 1.
struct LensTile {
  std::int64_t rows = 0, columns = 0;
  float low = 0, high = 0;            // of the finite values
  bool not_finite = false;            // some values are not: their cells are 255, and the others end at 254
  std::vector<std::uint8_t> cells{};  // (rows, columns)

  std::uint8_t top() const noexcept { return not_finite ? 254 : 255; }
  float value(std::size_t cell) const noexcept {
    if (cells[cell] > top()) return std::numeric_limits<float>::quiet_NaN();
    const float share = static_cast<float>(cells[cell]) / static_cast<float>(top());
    return low + (high - low) * share * share;
  }
};

// The map that lens_map() would give; where the units leave special tokens out, its rows are made to add up
// to 1 again, as without_special() does. At level 0 a cell is one pair of units; at level L it is the largest
// of 2^L × 2^L pairs, so that thin lines stay visible. The last level is one tile.
//
// Fine levels are made when they are asked for, from queries, keys and row states: a tile takes what its own
// pairs take. Coarse ones are made together, once, in one pass over the map that keeps 5.6 MB at 8,192
// units. Not for several threads at once. Reading and units (those of
// words() or single_tokens(), in their order) must outlive it.
class LensTiles {
 public:
  // raw, norm or rollout.
  LensTiles(const Reading& reading, const LensQuery& query, std::span<const Word> units);
  ~LensTiles();
  LensTiles(LensTiles&&) noexcept;
  LensTiles& operator=(LensTiles&&) noexcept;

  std::int64_t levels() const noexcept;
  std::int64_t cells(std::int64_t level) const;  // along a side of the whole map

  // Cells [256 y, 256 y + 256) and [256 x, 256 x + 256), or as many as there are. Throws for a tile that does
  // not exist.
  LensTile tile(std::int64_t level, std::int64_t y, std::int64_t x);

  // One row of the map, without what lens_row() would compute again for each.
  std::vector<double> row(std::size_t unit);

  std::size_t bytes() const noexcept;  // that it holds
  void forget_details();               // keeps those levels that are one tile

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attend
