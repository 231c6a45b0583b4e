// Tiles against the map that lens_map() gives: every level, between words and tokens, for every family.
#include <attend/lens_tiles.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lens/golden_reading.h"
#include "lens/lens_blocks.h"
#include "lens/map_pyramid.h"
#include "support/sanitized.h"

namespace attend {
namespace {

constexpr const char* kTiledText = "The banks of the river, the money.";

class Tiles : public testing::TestWithParam<const char*> {
 protected:
  GoldenModel golden_{GetParam()};
  TextModel model_ = golden_.load();
  Reading reading_{model_, kTiledText};
};

// Half the distance to the next cell, at most, and fp32 noise.
void expect_close(const LensTile& tile, std::size_t cell, double value) {
  const double range = static_cast<double>(tile.high) - static_cast<double>(tile.low);
  const double root = (static_cast<double>(tile.cells[cell]) + 0.5) / 255;
  const double below = std::max(0.0, (static_cast<double>(tile.cells[cell]) - 0.5) / 255);
  EXPECT_LE(value, static_cast<double>(tile.low) + range * root * root + 1e-6);
  EXPECT_GE(value, static_cast<double>(tile.low) + range * below * below - 1e-6);
}

TEST_P(Tiles, AreTheMapOfTheLens) {
  const std::vector<Word> tokens = single_tokens(reading_);
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout}) {
    for (const HeadChoice& heads :
         {HeadChoice{}, HeadChoice{.layer = 1}, HeadChoice{.layer = 2, .head = 2}}) {
      if (method == LensMethod::rollout && heads.head) continue;
      for (const std::span<const Word> units : {std::span(reading_.words()), std::span(tokens)}) {
        const LensQuery query{.method = method, .heads = heads};
        const Tensor map = lens_map(reading_, query, units);
        LensTiles tiles(reading_, query, units);
        EXPECT_EQ(tiles.levels(), 1);
        EXPECT_EQ(tiles.cells(0), static_cast<std::int64_t>(units.size()));
        const LensTile tile = tiles.tile(0, 0, 0);
        ASSERT_EQ(tile.rows, map.size(0));
        ASSERT_EQ(tile.columns, map.size(1));
        for (std::size_t i = 0; i < tile.cells.size(); ++i) expect_close(tile, i, map.values<double>()[i]);
        const auto [low, high] = std::ranges::minmax(map.values<double>());
        EXPECT_NEAR(static_cast<double>(tile.low), low, 1e-6);
        EXPECT_NEAR(static_cast<double>(tile.high), high, 1e-6);
        for (std::size_t u = 0; u < units.size(); ++u) {
          const std::vector<double> row = tiles.row(u);
          for (std::size_t w = 0; w < units.size(); ++w)
            EXPECT_NEAR(row[w], map.values<double>()[u * units.size() + w], 1e-6);
        }
      }
    }
  }
}

// Special tokens may be left out; rows then add up to 1 again.
TEST_P(Tiles, WithoutSpecialTokensRowsAddUpToOne) {
  std::vector<Word> plain;
  for (const Word& word : reading_.words()) {
    if (!word.special) plain.push_back(word);
  }
  ASSERT_LT(plain.size(), reading_.words().size());
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout}) {
    const LensQuery query{.method = method};
    LensTiles tiles(reading_, query, plain);
    const LensTile tile = tiles.tile(0, 0, 0);
    std::size_t u = 0;
    for (std::size_t w = 0; w < reading_.words().size(); ++w) {
      if (reading_.words()[w].special) continue;
      const std::vector<double> expected =
          without_special(lens_row(reading_, query, reading_.words(), w), reading_.words());
      const std::vector<double> row = tiles.row(u);
      for (std::size_t i = 0; i < plain.size(); ++i) {
        EXPECT_NEAR(row[i], expected[i], 1e-6);
        expect_close(tile, u * plain.size() + i, expected[i]);
      }
      ++u;
    }
  }
}

// Any rectangle, even one that begins after the first key: masks, positions and bias move along.
TEST_P(Tiles, AnyRectangleIsThatOfTheMap) {
  const std::vector<Word> tokens = single_tokens(reading_);
  const std::int64_t n = reading_.size();
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm}) {
    for (const HeadChoice& heads : {HeadChoice{}, HeadChoice{.layer = 2, .head = 1}}) {
      const LensQuery query{.method = method, .heads = heads};
      const Tensor map = lens_map(reading_, query, tokens);
      lens::LensBlocks blocks(reading_, query);
      for (const auto& [rows, keys] :
           {std::pair{lens::Range{2, 5}, lens::Range{3, n}}, std::pair{lens::Range{0, n}, lens::Range{1, 2}},
            std::pair{lens::Range{n - 1, n}, lens::Range{0, n}}}) {
        std::vector<float> block(static_cast<std::size_t>(rows.size() * keys.size()), NAN);
        blocks.fill(rows, keys, block);
        for (std::int64_t i = 0; i < rows.size(); ++i) {
          for (std::int64_t j = 0; j < keys.size(); ++j) {
            EXPECT_NEAR(static_cast<double>(block[static_cast<std::size_t>(i * keys.size() + j)]),
                        map.values<double>()[static_cast<std::size_t>((rows.first + i) * n + keys.first + j)],
                        1e-6);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lens, Tiles, testing::ValuesIn(kFamilies), [](const auto& name) {
  std::string text = name.param;
  std::erase(text, '-');
  return text;
});

// A map of several tiles and levels, from rows as they come.
TEST(MapPyramid, EveryCellIsTheLargestOfItsSquare) {
  const std::int64_t units = kSanitized ? 700 : 1300;
  std::vector<float> map(static_cast<std::size_t>(units * units));
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<float>((i * 2654435761u) % 10007) / 10007;
  lens::MapPyramid pyramid(units, 0);
  for (std::int64_t first = 0; first < units; first += 100) {
    const std::int64_t count = std::min<std::int64_t>(100, units - first);
    pyramid.append(std::span(map).subspan(static_cast<std::size_t>(first * units),
                                          static_cast<std::size_t>(count * units)));
  }
  std::int64_t level = 0;
  for (;; ++level) {
    const std::int64_t side = std::int64_t{1} << level, cells = lens::cells_at(units, level);
    for (std::int64_t y = 0; y < lens::tiles_for(cells); ++y) {
      for (std::int64_t x = 0; x < lens::tiles_for(cells); ++x) {
        const LensTile* const tile = pyramid.tile(level, y, x);
        ASSERT_NE(tile, nullptr);
        ASSERT_EQ(tile->rows, std::min(kTileCells, cells - y * kTileCells));
        ASSERT_EQ(tile->columns, std::min(kTileCells, cells - x * kTileCells));
        for (std::int64_t i = 0; i < tile->rows; i += 37) {
          for (std::int64_t j = 0; j < tile->columns; j += 11) {
            float largest = 0;
            const std::int64_t row = (y * kTileCells + i) * side, column = (x * kTileCells + j) * side;
            for (std::int64_t r = row; r < std::min(row + side, units); ++r) {
              for (std::int64_t c = column; c < std::min(column + side, units); ++c)
                largest = std::max(largest, map[static_cast<std::size_t>(r * units + c)]);
            }
            expect_close(*tile, static_cast<std::size_t>(i * tile->columns + j),
                         static_cast<double>(largest));
          }
        }
      }
    }
    if (cells <= kTileCells) break;
  }
  EXPECT_EQ(level, kSanitized ? 2 : 3);
  const std::size_t before = pyramid.bytes();
  pyramid.forget_details();
  EXPECT_EQ(pyramid.tile(0, 0, 0), nullptr);
  EXPECT_NE(pyramid.tile(level, 0, 0), nullptr);
  EXPECT_LT(pyramid.bytes(), before / 4);
}

TEST(LensTiles, RefusesWhatIsNotThere) {
  const GoldenModel golden("bert");
  const TextModel model = golden.load();
  const Reading reading(model, "the bank");
  LensTiles tiles(reading, {}, reading.words());
  EXPECT_THROW(tiles.tile(1, 0, 0), std::invalid_argument);
  EXPECT_THROW(tiles.tile(-1, 0, 0), std::invalid_argument);
  EXPECT_THROW(tiles.tile(0, 0, 1), std::invalid_argument);
  EXPECT_THROW(tiles.tile(0, -1, 0), std::invalid_argument);
  EXPECT_THROW(tiles.row(9), std::invalid_argument);
  EXPECT_THROW(LensTiles(reading, {.method = LensMethod::flow}, reading.words()), std::invalid_argument);
  EXPECT_THROW(LensTiles(reading, {.heads = {.layer = 9}}, reading.words()), std::invalid_argument);
  EXPECT_THROW(LensTiles(reading, {}, {}), std::invalid_argument);
}

TEST(Reading, KeepsWhatItIsAskedToKeep) {
  const GoldenModel golden("bert");
  const TextModel model = golden.load();
  const Reading all(model, kTiledText), attention(model, kTiledText, {}, {.keep = Keep::attention});
  const Reading last(all, {}, Keep::last_state);
  const auto same = [](ConstTensorView a, ConstTensorView b) {
    const Tensor first = copy_of(a), second = copy_of(b);
    return std::ranges::equal(first.values<float>(), second.values<float>());
  };
  for (const Reading* reading : {&attention, &last}) {
    EXPECT_TRUE(same(all.hidden(all.layers()), reading->hidden(reading->layers())));
    EXPECT_THROW(reading->hidden(1), std::invalid_argument);
  }
  EXPECT_TRUE(same(all.hidden(0), attention.hidden(0)));
  EXPECT_THROW(last.hidden(0), std::invalid_argument);
  EXPECT_TRUE(same(all.layer(1).q, attention.layer(1).q));
  EXPECT_TRUE(same(all.layer(2).v, attention.layer(2).v));
  EXPECT_EQ(last.layer(1).q.count(), 0);
}

}  // namespace
}  // namespace attend
