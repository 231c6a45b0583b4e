#include "learn/metrics_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace attend::learn {
namespace {

TEST(Metrics, AreReadAsTheyWereWritten) {
  Metrics written;
  written.add_step(1, 0.1, 1e-3, 2.5, 1234.5);
  written.add({{.loss = 1.0 / 3, .accuracy = 0.25, .more = {{"spearman", -0.5}}}, 1});
  written.add_step(2, 1e-17, 1e-3, 2.5, 0);
  written.add({{.loss = std::nan("")}, 2});
  const Metrics read = parse_metrics(written.text, 2);
  EXPECT_EQ(read.text, written.text);
  EXPECT_EQ(read.losses, written.losses);
  ASSERT_EQ(read.evaluations.size(), 2u);
  EXPECT_EQ(read.evaluations[0].step, 1);
  EXPECT_EQ(read.evaluations[0].loss, 1.0 / 3);
  EXPECT_EQ(read.evaluations[0].accuracy, 0.25);
  ASSERT_EQ(read.evaluations[0].more.size(), 1u);
  EXPECT_EQ(read.evaluations[0].more[0].key, "spearman");
  EXPECT_EQ(read.evaluations[0].more[0].value, -0.5);
  EXPECT_TRUE(std::isnan(read.evaluations[1].loss) && std::isnan(read.evaluations[1].accuracy));
}

TEST(Metrics, EndWithTheStepOfTheState) {
  Metrics written;
  for (std::int64_t step = 1; step <= 9; ++step) written.add_step(step, 1, 1, 1, 1);
  EXPECT_EQ(parse_metrics(written.text, 4).losses.size(), 4u);
}

TEST(Metrics, WhatIsNotALineOfOursIsLeftOut) {
  const std::string good = "{\"step\":3,\"loss\":1.5}\n";
  for (const char* line :
       {"", "{", "[]", "{}", "nonsense", "{\"step\":3}", "{\"loss\":1}", "{\"step\":-1,\"loss\":1}",
        "{\"step\":1.5,\"loss\":1}", "{\"step\":\"1\",\"loss\":1}", "{\"step\":1,\"loss\":\"x\"}",
        "{\"step\":1e400,\"loss\":1}", "{\"step\":9223372036854775808,\"loss\":1}",
        "{\"step\":1,\"loss\":1e999}", "{\"step\":1,\"loss\":1} x", "{\"step\":1,\"step\":2,\"loss\":1}",
        "{\"step\":1,\"loss\":1,\"\xFF\":1}"}) {
    const Metrics read = parse_metrics(std::string(line) + "\n" + good, 100);
    EXPECT_EQ(read.text, good) << line;
    EXPECT_EQ(read.losses.size(), 1u) << line;
  }
  const Metrics turned = parse_metrics(good + "{\"step\":2,\"loss\":1}\n" + good, 100);
  EXPECT_EQ(turned.text, good);
}

// In time and memory that grow no faster than the text.
TEST(Metrics, HostileLinesAreReadInTime) {
  std::string keys = "{\"step\":1,\"loss\":1";
  for (int i = 0; i < 100000; ++i) keys += joined(",\"k", i, "\":1");
  EXPECT_EQ(parse_metrics(keys + "}\n", 1).losses.size(), 1u);
  EXPECT_TRUE(parse_metrics(std::string(1 << 20, '['), 1).losses.empty());
  std::string deep = "{\"a\":";
  for (int i = 0; i < 18; ++i) deep += deep;
  EXPECT_TRUE(parse_metrics(deep, 1).losses.empty());
  EXPECT_TRUE(parse_metrics(std::string(1 << 20, '\n'), 1).text.empty());
}

}  // namespace
}  // namespace attend::learn
