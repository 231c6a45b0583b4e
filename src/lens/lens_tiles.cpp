#include <attend/lens_tiles.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "lens/lens_blocks.h"
#include "lens/map_pyramid.h"

namespace attend {
namespace {

using lens::cells_at;
using lens::Range;
using lens::tiles_for;

constexpr std::size_t kMostKept = std::size_t{6}
                                  << 20;  // bytes of coarse levels: those from 4 × 4 on at 8,192 units
constexpr std::int64_t kRowsAtOnce = 96;  // units of the pass that makes them: two tiles of attention_rows()

// The first level that is kept: not the finest, which is quick to make, and no more than fits.
std::int64_t first_kept(std::int64_t units) {
  std::int64_t level = 1;
  const auto bytes = [&] { return cells_at(units, level) * cells_at(units, level) * 4 / 3; };
  while (bytes() > static_cast<std::int64_t>(kMostKept)) ++level;
  return level;
}

constexpr std::int64_t kTokenNumbers = std::int64_t{1} << 20;  // between tokens, before they become units

// Adds rows of tokens [rows.first, rows.last) to those of their units: the sum over the tokens of a key, the
// mean over those of a query. tokens: (rows, keys from the first column's to the last one's).
void add_merged(std::span<const float> tokens, Range rows, std::span<const Word> queries,
                std::span<const Word> columns, std::span<float> out) {
  const std::int64_t first_key = columns.front().first_token;
  const std::int64_t width = columns.back().last_token - first_key;
  parallel_for(static_cast<std::int64_t>(queries.size()), [&](std::int64_t place, int) noexcept {
    const Word& query = queries[static_cast<std::size_t>(place)];
    const float share = 1.0F / static_cast<float>(query.last_token - query.first_token);
    float* const target = out.data() + place * static_cast<std::int64_t>(columns.size());
    for (std::int64_t i = std::max(query.first_token, rows.first); i < std::min(query.last_token, rows.last);
         ++i) {
      const float* const row = tokens.data() + (i - rows.first) * width;
      for (std::size_t w = 0; w < columns.size(); ++w) {
        float sum = 0;
        for (std::int64_t j = columns[w].first_token; j < columns[w].last_token; ++j)
          sum += row[j - first_key];
        target[w] += share * sum;
      }
    }
  });
}

void scale_to_one(std::span<double> row) {
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  for (double& value : row) value = value == 0 ? 0 : value / sum;
}

}  // namespace

struct LensTiles::Parts {
  const Reading& reading;
  LensQuery query;
  std::span<const Word> units;
  std::optional<lens::LensBlocks> blocks{};
  Tensor whole{};  // of rollout
  std::optional<lens::MapPyramid> coarse{};
  std::vector<float> tokens{};  // scratch memory of one call
  // Where tokens are left out, (units): what a row adds up to without them; negative: not known yet.
  std::vector<float> kept{};

  std::int64_t size() const { return static_cast<std::int64_t>(units.size()); }
  std::int64_t first_level() const { return first_kept(size()); }

  std::span<const Word> units_of(Range range) const {
    return units.subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.size()));
  }

  // Values (rows, columns) between units.
  std::vector<float> values(Range rows, Range columns) {
    std::vector<float> out(static_cast<std::size_t>(rows.size() * columns.size()));
    if (query.method == LensMethod::rollout) {
      copy_whole(rows, columns, out);
      return out;
    }
    if (!kept.empty() && columns.size() < size()) require_kept(rows);
    fill(rows, columns, out);
    for (std::int64_t r = 0; r < rows.size() && !kept.empty(); ++r) {
      const std::span<float> row = std::span(out).subspan(static_cast<std::size_t>(r * columns.size()),
                                                          static_cast<std::size_t>(columns.size()));
      float& sum = kept[static_cast<std::size_t>(rows.first + r)];
      if (sum < 0) sum = static_cast<float>(std::accumulate(row.begin(), row.end(), 0.0));
      for (float& value : row) value = value == 0 ? 0 : value / sum;
    }
    return out;
  }

  void fill(Range rows, Range columns, std::span<float> out) {
    const std::span<const Word> queries = units_of(rows), keys = units_of(columns);
    const Range down{queries.front().first_token, queries.back().last_token};
    const Range across{keys.front().first_token, keys.back().last_token};
    if (down.size() == rows.size() && across.size() == columns.size()) return blocks->fill(down, across, out);
    std::fill(out.begin(), out.end(), 0.0F);
    const std::int64_t step = std::max<std::int64_t>(1, kTokenNumbers / across.size());
    for (std::int64_t first = down.first; first < down.last; first += step) {
      const Range some{first, std::min(first + step, down.last)};
      tokens.resize(static_cast<std::size_t>(some.size() * across.size()));
      blocks->fill(some, across, tokens);
      add_merged(tokens, some, queries, keys, out);
    }
  }

  void copy_whole(Range rows, Range columns, std::span<float> out) const {
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      const auto from =
          whole.values<double>().subspan(static_cast<std::size_t>((rows.first + r) * size() + columns.first),
                                         static_cast<std::size_t>(columns.size()));
      std::transform(from.begin(), from.end(), out.begin() + r * columns.size(),
                     [](double value) { return static_cast<float>(value); });
    }
  }

  // Rows whose sums are not known yet are computed in full, once.
  void require_kept(Range rows) {
    for (std::int64_t first = rows.first; first < rows.last; first += kRowsAtOnce) {
      const Range some{first, std::min(first + kRowsAtOnce, rows.last)};
      const auto known = kept.begin();
      if (std::any_of(known + some.first, known + some.last, [](float sum) { return sum < 0; }))
        values(some, {0, size()});
    }
  }

  void build() {
    const std::int64_t level = first_level(), side = std::int64_t{1} << level;
    const std::int64_t step = std::max(side, kRowsAtOnce / side * side), n = size();
    lens::MapPyramid pyramid(n, level);
    std::vector<float> pooled;
    for (std::int64_t first = 0; first < n; first += step) {
      const Range rows{first, std::min(first + step, n)};
      const std::vector<float> block = values(rows, {0, n});
      pooled.resize(static_cast<std::size_t>(cells_at(rows.size(), level) * cells_at(n, level)));
      lens::pool_largest(block, rows.size(), n, level, pooled);
      pyramid.append(pooled);
    }
    coarse = std::move(pyramid);
  }

  LensTile fine(std::int64_t level, Range down, Range across) {
    const std::int64_t side = std::int64_t{1} << level;
    const Range rows{down.first * side, std::min(down.last * side, size())};
    const Range columns{across.first * side, std::min(across.last * side, size())};
    const std::vector<float> block = values(rows, columns);
    if (level == 0) return lens::quantized(rows.size(), columns.size(), block);
    std::vector<float> pooled(static_cast<std::size_t>(down.size() * across.size()));
    lens::pool_largest(block, rows.size(), columns.size(), level, pooled);
    return lens::quantized(down.size(), across.size(), pooled);
  }
};

LensTiles::LensTiles(const Reading& reading, const LensQuery& query, std::span<const Word> units)
    : parts_(new Parts{.reading = reading, .query = query, .units = units}) {
  if (units.empty()) refuse("lens", "tiles need at least one unit");
  std::int64_t covered = 0;
  for (const Word& unit : units) covered += unit.last_token - unit.first_token;
  const bool left_out = covered < reading.size();
  if (query.method == LensMethod::rollout) {
    if (reading.size() > kMostRolledTileTokens)
      refuse("lens", "rollout is for texts of up to ", kMostRolledTileTokens, " tokens, but this one has ",
             reading.size());
    parts_->whole = lens_map(reading, query, units);
    const std::span<double> all = parts_->whole.values<double>();
    for (std::size_t u = 0; u < units.size() && left_out; ++u)
      scale_to_one(all.subspan(u * units.size(), units.size()));
  } else {
    parts_->blocks.emplace(reading, query);
    if (left_out) parts_->kept.assign(units.size(), -1.0F);
  }
}

LensTiles::~LensTiles() = default;
LensTiles::LensTiles(LensTiles&&) noexcept = default;
LensTiles& LensTiles::operator=(LensTiles&&) noexcept = default;

std::int64_t LensTiles::levels() const noexcept {
  std::int64_t count = 1;
  while (cells_at(parts_->size(), count - 1) > kTileCells) ++count;
  return count;
}

std::int64_t LensTiles::cells(std::int64_t level) const {
  if (level < 0 || level >= levels()) refuse("lens", "level is ", level, ", expected 0 to ", levels() - 1);
  return cells_at(parts_->size(), level);
}

LensTile LensTiles::tile(std::int64_t level, std::int64_t y, std::int64_t x) {
  const std::int64_t side = cells(level), count = tiles_for(side);
  if (y < 0 || y >= count || x < 0 || x >= count)
    refuse("lens", "tile is (", y, ", ", x, "), but level ", level, " has ", count, " × ", count);
  const auto range = [&](std::int64_t place) {
    return Range{place * kTileCells, std::min((place + 1) * kTileCells, side)};
  };
  if (level >= parts_->first_level()) {
    if (!parts_->coarse || parts_->coarse->tile(level, y, x) == nullptr) parts_->build();
    parts_->tokens = {};
    return *parts_->coarse->tile(level, y, x);
  }
  LensTile tile = parts_->fine(level, range(y), range(x));
  parts_->tokens = {};
  return tile;
}

std::vector<double> LensTiles::row(std::size_t unit) {
  if (unit >= parts_->units.size())
    refuse("lens", "unit is ", unit, ", but there are ", parts_->units.size(), ", counted from 0");
  if (parts_->query.method == LensMethod::raw) {
    std::vector<double> row = lens_row(parts_->reading, parts_->query, parts_->units, unit);
    if (!parts_->kept.empty()) scale_to_one(row);
    return row;
  }
  const auto place = static_cast<std::int64_t>(unit);
  if (parts_->query.method == LensMethod::rollout) {
    const auto row =
        parts_->whole.values<double>().subspan(unit * parts_->units.size(), parts_->units.size());
    return {row.begin(), row.end()};
  }
  const std::vector<float> values = parts_->values({place, place + 1}, {0, parts_->size()});
  parts_->tokens = {};
  return {values.begin(), values.end()};
}

std::size_t LensTiles::bytes() const noexcept {
  const Parts& parts = *parts_;
  return (parts.blocks ? parts.blocks->bytes() : 0) + (parts.coarse ? parts.coarse->bytes() : 0) +
         parts.kept.size() * sizeof(float) + static_cast<std::size_t>(parts.whole.count()) * sizeof(double);
}

void LensTiles::forget_details() {
  if (parts_->coarse) parts_->coarse->forget_details();
}

}  // namespace attend
