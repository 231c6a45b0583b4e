// The coarse levels of a map, as quantised tiles: built from rows that are seen once.
#pragma once

#include <attend/lens_tiles.h>

#include <span>
#include <vector>

namespace attend::lens {

// Values (rows, columns) as cells.
LensTile quantized(std::int64_t rows, std::int64_t columns, std::span<const float> values);

// out (ceil(rows / 2^level), ceil(columns / 2^level)): the largest of each square of values (rows, columns).
void pool_largest(std::span<const float> values, std::int64_t rows, std::int64_t columns, std::int64_t level,
                  std::span<float> out);

// How many cells of level `level` cover `units`, and how many tiles cover that many cells.
constexpr std::int64_t cells_at(std::int64_t units, std::int64_t level) {
  return (units + (std::int64_t{1} << level) - 1) >> level;
}
constexpr std::int64_t tiles_for(std::int64_t cells) { return (cells + kTileCells - 1) / kTileCells; }

// Levels first, first + 1, ... up to the first that is one tile.
class MapPyramid {
 public:
  MapPyramid(std::int64_t units, std::int64_t first_level);

  // The next rows of level `first_level`, in order; all of them must come.
  void append(std::span<const float> rows);

  const LensTile* tile(std::int64_t level, std::int64_t y, std::int64_t x) const;  // null: not kept
  std::size_t bytes() const noexcept;
  void forget_details();

 private:
  struct Level {
    std::int64_t cells = 0;
    std::int64_t rows = 0;          // in the band
    std::vector<float> band{};      // up to 256 rows that are not tiles yet
    std::vector<LensTile> tiles{};  // row by row
  };
  void flush(std::size_t index);

  std::int64_t first_level_;
  std::vector<Level> levels_;
};

}  // namespace attend::lens
