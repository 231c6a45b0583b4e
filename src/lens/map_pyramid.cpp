#include "lens/map_pyramid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"

namespace attend::lens {

namespace {

// For numbers that are not negative; one that is not finite counts as the largest.
float larger(float a, float b) { return a < b || b != b ? b : a; }

// For a tile that holds NaN or infinity; slower, but never needed for a model with sound weights.
void quantize_finite(const float* values, std::int64_t stride, LensTile& tile) noexcept {
  tile.not_finite = true;
  bool any = false;
  for (std::int64_t i = 0; i < tile.rows * tile.columns; ++i) {
    const float value = values[i / tile.columns * stride + i % tile.columns];
    if (!std::isfinite(value)) continue;
    tile.low = any ? std::min(tile.low, value) : value;
    tile.high = any ? std::max(tile.high, value) : value;
    any = true;
  }
  const float range = tile.high - tile.low, top = static_cast<float>(tile.top());
  for (std::int64_t i = 0; i < tile.rows * tile.columns; ++i) {
    const float value = values[i / tile.columns * stride + i % tile.columns];
    const float share = range > 0 ? (value - tile.low) / range : 0;
    tile.cells[static_cast<std::size_t>(i)] =
        std::isfinite(value) ? static_cast<std::uint8_t>(std::sqrt(share) * top + 0.5F) : 255;
  }
}

// Fills a tile whose cells are allocated.
void quantize(const float* values, std::int64_t stride, LensTile& tile) noexcept {
  constexpr float kMost = std::numeric_limits<float>::max();
  float low = kMost, high = -kMost;
  std::uint32_t bad = 0;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const float* const row = values + r * stride;
    for (std::int64_t c = 0; c < tile.columns; ++c) {
      low = row[c] < low ? row[c] : low;
      high = row[c] > high ? row[c] : high;
      bad |= static_cast<std::uint32_t>(row[c] - row[c] != 0);  // NaN, or infinity
    }
  }
  if (bad != 0) return quantize_finite(values, stride, tile);
  tile.low = low;
  tile.high = high;
  const float scale = high > low ? 255 * 255 / (high - low) : 0;
  std::uint8_t* out = tile.cells.data();
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const float* const row = values + r * stride;
    for (std::int64_t c = 0; c < tile.columns; ++c) {
      const float root = std::sqrt(larger(0, (row[c] - tile.low) * scale));
      *out++ = static_cast<std::uint8_t>(std::min(root + 0.5F, 255.0F));
    }
  }
}

LensTile empty_tile(std::int64_t rows, std::int64_t columns) {
  return {.rows = rows,
          .columns = columns,
          .cells = std::vector<std::uint8_t>(static_cast<std::size_t>(rows * columns))};
}

}  // namespace

LensTile quantized(std::int64_t rows, std::int64_t columns, std::span<const float> values) {
  LensTile tile = empty_tile(rows, columns);
  if (!tile.cells.empty()) quantize(values.data(), columns, tile);
  return tile;
}

void pool_largest(std::span<const float> values, std::int64_t rows, std::int64_t columns, std::int64_t level,
                  std::span<float> out) {
  const std::int64_t side = std::int64_t{1} << level, width = cells_at(columns, level);
  const int lanes = lanes_for(cells_at(rows, level));
  std::vector<float> scratch(static_cast<std::size_t>(lanes * columns));
  parallel_for(cells_at(rows, level), lanes, [&](std::int64_t r, int lane) noexcept {
    float* const tallest = scratch.data() + lane * columns;
    const float* row = values.data() + r * side * columns;
    std::copy(row, row + columns, tallest);
    for (std::int64_t i = r * side + 1; i < std::min((r + 1) * side, rows); ++i) {
      row += columns;
      for (std::int64_t c = 0; c < columns; ++c) tallest[c] = larger(tallest[c], row[c]);
    }
    std::int64_t count = columns;
    for (std::int64_t l = 0; l < level; ++l) {
      const float last = tallest[count - 1];
      for (std::int64_t c = 0; c < count / 2; ++c) tallest[c] = larger(tallest[2 * c], tallest[2 * c + 1]);
      if (count % 2 == 1) tallest[count / 2] = last;
      count = (count + 1) / 2;
    }
    std::copy(tallest, tallest + count, out.data() + r * width);
  });
}

MapPyramid::MapPyramid(std::int64_t units, std::int64_t first_level) : first_level_(first_level) {
  for (std::int64_t level = first_level;; ++level) {
    levels_.push_back({.cells = cells_at(units, level)});
    if (levels_.back().cells <= kTileCells) return;
  }
}

void MapPyramid::append(std::span<const float> rows) {
  Level& level = levels_.front();
  const auto width = static_cast<std::size_t>(level.cells);
  while (!rows.empty()) {
    const std::size_t room = static_cast<std::size_t>(kTileCells) * width - level.band.size();
    const std::size_t count = std::min(room, rows.size());
    level.band.insert(level.band.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
    level.rows += static_cast<std::int64_t>(count / width);
    rows = rows.subspan(count);
    if (level.band.size() == static_cast<std::size_t>(kTileCells) * width || level.rows == level.cells)
      flush(0);
  }
}

// A band that is full, or the last, becomes tiles, and half as many rows of the next level.
void MapPyramid::flush(std::size_t index) {
  Level& level = levels_[index];
  const std::int64_t columns = level.cells, rows = static_cast<std::int64_t>(level.band.size()) / columns;
  const std::int64_t count = tiles_for(columns);
  const std::size_t before = level.tiles.size();
  for (std::int64_t x = 0; x < count; ++x)
    level.tiles.push_back(empty_tile(rows, std::min(kTileCells, columns - x * kTileCells)));
  parallel_for(count, [&](std::int64_t x, int) noexcept {
    quantize(level.band.data() + x * kTileCells, columns, level.tiles[before + static_cast<std::size_t>(x)]);
  });
  if (index + 1 < levels_.size()) {
    Level& next = levels_[index + 1];
    std::vector<float> pooled(static_cast<std::size_t>(cells_at(rows, 1) * next.cells));
    pool_largest(level.band, rows, columns, 1, pooled);
    next.band.insert(next.band.end(), pooled.begin(), pooled.end());
    next.rows += cells_at(rows, 1);
    if (next.band.size() == static_cast<std::size_t>(kTileCells * next.cells) || next.rows == next.cells)
      flush(index + 1);
  }
  level.band.clear();
  if (level.rows == level.cells) level.band.shrink_to_fit();
}

const LensTile* MapPyramid::tile(std::int64_t number, std::int64_t y, std::int64_t x) const {
  if (number < first_level_) return nullptr;
  const Level& level = levels_[static_cast<std::size_t>(number - first_level_)];
  const auto place = static_cast<std::size_t>(y * tiles_for(level.cells) + x);
  return place < level.tiles.size() ? &level.tiles[place] : nullptr;
}

std::size_t MapPyramid::bytes() const noexcept {
  std::size_t total = 0;
  for (const Level& level : levels_) {
    total += level.band.capacity() * sizeof(float);
    for (const LensTile& tile : level.tiles) total += sizeof(LensTile) + tile.cells.size();
  }
  return total;
}

void MapPyramid::forget_details() {
  for (Level& level : levels_) {
    if (level.tiles.size() > 1) level.tiles = {};
  }
}

}  // namespace attend::lens
