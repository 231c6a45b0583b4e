#include "learn/film.h"

#include <gtest/gtest.h>

namespace attend::learn {
namespace {

using Steps = std::vector<std::int64_t>;

TEST(Film, HasMoreFramesWhereMuchChanges) {
  EXPECT_EQ(snapshot_steps(1), (Steps{0, 1}));
  EXPECT_EQ(snapshot_steps(20), (Steps{0, 1, 2, 5, 10, 20}));
  EXPECT_EQ(snapshot_steps(600), (Steps{0, 18, 37, 75, 150, 300, 600}));
  EXPECT_EQ(snapshot_steps(1'000'000'000'000).back(), 1'000'000'000'000);
}

Example example_of(std::size_t tokens, bool answers) {
  Example example;
  example.row_labels = example.column_labels = std::vector<std::string>(tokens, "a");
  example.answers.assign(tokens, answers ? 0 : -1);
  return example;
}

ModelDescription model_of(std::int64_t layers, std::int64_t heads) {
  return model::describe({.vocabulary = 1, .length = 1, .layers = layers, .hidden = heads, .heads = heads});
}

TEST(Film, IsNotMadeOfMapsThatWouldFillTheMemory) {
  const ModelDescription shape = model_of(2, 4);
  EXPECT_TRUE(Film::fits(example_of(300, true), shape));
  EXPECT_FALSE(Film::fits(example_of(400, true), shape));  // 7 frames of 8 maps
  EXPECT_TRUE(Film::fits(example_of(1000, false), shape));
  EXPECT_FALSE(Film::fits(example_of(1100, false), shape));  // 7 frames of one
  EXPECT_FALSE(Film::fits(example_of(1, true), model_of(model::kMostOwnLayers, kLargestModelSize)));
}

// For two layers of two heads, and two tokens.
std::vector<ExampleMap> four_maps() {
  std::vector<ExampleMap> maps;
  for (const std::int64_t layer : {1, 2}) {
    for (const std::int64_t head : {1, 2}) {
      const double at = 0.125 * static_cast<double>(2 * (layer - 1) + head - 1);
      maps.push_back({.layer = layer, .head = head, .weights = {1, 0, at, 1 - at}});
    }
  }
  return maps;
}

TEST(Film, ShowsTheHeadThatLooksAtTheAnswer) {
  Example example = example_of(2, false);
  example.answers = {-1, 0};
  Film film(example, model_of(2, 2), false);
  film.take(0, four_maps());
  film.take(0, four_maps());  // once a step
  EXPECT_EQ(film.frames().size(), 1u);
  EXPECT_EQ(film.frame_shape(), (Dims{4, 2, 2}));
  EXPECT_EQ(film.weight_on_answers(), 0.375);
  EXPECT_EQ(film.last().values, (std::vector<double>{1, 0, 0.375, 0.625}));
  EXPECT_EQ(film.strip().title, "Attention while it learns: layer 2, head 2");
}

TEST(Film, ShowsTheMeanOfTheLastLayerWithoutAnswers) {
  Film film(example_of(2, false), model_of(2, 2), true);
  film.take(5, four_maps());
  EXPECT_EQ(film.frame_shape(), (Dims{1, 2, 2}));
  EXPECT_EQ(film.last().values, (std::vector<double>{1, 0, 0.3125, 0.6875}));
  EXPECT_EQ(film.last().title, "Attention after step 5: layer 2, mean of its heads");
}

}  // namespace
}  // namespace attend::learn
