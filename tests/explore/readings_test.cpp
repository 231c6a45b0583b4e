// Which readings and tiles are kept, and which are dropped to make room.
#include <gtest/gtest.h>

#include <algorithm>

#include "explore/readings.h"
#include "http/message.h"
#include "lens/golden_reading.h"

namespace attend::explore {
namespace {

int status_of_reading(const Readings& readings, const std::string& id) {
  try {
    readings.reading(id);
  } catch (const http::RequestError& error) {
    return error.status;
  }
  return 200;
}

TEST(Readings, TheLastFewAreKept) {
  const GoldenModel golden("bert");
  const TextModel model = golden.load();
  Readings readings;
  std::vector<std::string> ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(readings.read(model, "the bank of the river", ""));
    readings.tile(ids.back(), {}, 0, 0, 0);
  }
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(status_of_reading(readings, ids[i]), i + kMostReadings < ids.size() ? 410 : 200);
  EXPECT_EQ(status_of_reading(readings, "01234567-1"), 410);  // of another run
  for (const char* const id : {"", "x", "models", "0123456g-1", "01234567-", "01234567-1x", "0123456701"})
    EXPECT_EQ(status_of_reading(readings, id), 404) << id;
}

// A tile of a map that was dropped is computed again, identically.
TEST(Readings, TilesStayWithinTheirMemory) {
  const GoldenModel golden("bert");
  const TextModel model = golden.load();
  constexpr std::size_t kRoom = 1500;  // for a few maps of this text
  Readings readings(kRoom);
  const std::string id = readings.read(model, "the bank of the river", "");
  const MapName first{.method = LensMethod::rollout, .heads = {.layer = 1}, .tokens = true, .special = false};
  const LensTile before = readings.tile(id, first, 0, 0, 0);
  const std::size_t one = readings.tile_bytes();
  std::size_t most = 0;
  for (const bool tokens : {false, true}) {
    for (const bool special : {false, true}) {
      for (const LensMethod method : {LensMethod::norm, LensMethod::rollout}) {
        for (std::int64_t layer = 1; layer <= 2; ++layer) {
          readings.tile(id, {method, {.layer = layer}, tokens, special}, 0, 0, 0);
          most = std::max(most, readings.tile_bytes());
        }
      }
    }
  }
  EXPECT_GT(16 * one, kRoom);  // all of them would not have fitted
  EXPECT_GT(most, kRoom / 2);
  EXPECT_LE(most, kRoom);
  EXPECT_EQ(readings.tile(id, first, 0, 0, 0).cells, before.cells);
  EXPECT_EQ(readings.row(id, first, 0).size(), static_cast<std::size_t>(before.columns));
}

}  // namespace
}  // namespace attend::explore
