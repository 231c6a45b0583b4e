#include "bench/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/gpu_measure.h"

namespace attend::bench {
namespace {

Record forward_record() {
  Record record;
  record.bench = "attention";
  record.name = "fwd causal 1,12,512,64";
  record.causal = true;
  record.shape = {1, 12, 12, 512, 512, 64};
  record.threads = 2;
  record.seconds = {0.009, 0.01, 0.012};
  record.flops = 2e9;
  record.peak_flops = 250e9;
  record.share = {0.7, 0.8, 0.85};
  record.more = {{"time_over_full", 0.53}};
  return record;
}

Record decode_record() {
  Record record = forward_record();
  record.direction = Direction::decode;
  record.bytes = 1e9;
  record.peak_bytes = 200e9;
  record.more.clear();
  return record;
}

TEST(BenchReport, ShareIsOfThePeakThatLimits) {
  EXPECT_DOUBLE_EQ(forward_record().share_of_peak(), 0.8);
  EXPECT_DOUBLE_EQ(decode_record().share_of_peak(), 0.5);
}

TEST(BenchReport, JsonHasEveryKey) {
  const Report report{.title = "x", .records = {forward_record(), decode_record()}};
  const auto list = nlohmann::json::parse(to_json(std::vector{report, report}));
  ASSERT_EQ(list.size(), 4u);
  for (const auto& object : list) {
    for (const char* const key :
         {"bench",        "case",   "dtype",       "direction", "causal",    "b",          "hq",
          "hkv",          "lq",     "lk",          "d",         "threads",   "seconds",    "seconds_low",
          "seconds_high", "gflops", "peak_gflops", "share",     "share_low", "share_high", "rounds",
          "max_error",    "isa",    "cpu",         "compiler",  "version"}) {
      EXPECT_TRUE(object.contains(key)) << key;
    }
  }
  EXPECT_EQ(list[0]["direction"], "fwd");
  EXPECT_EQ(list[0]["dtype"], "f32");
  EXPECT_DOUBLE_EQ(list[0]["gflops"], 200);
  EXPECT_DOUBLE_EQ(list[0]["peak_gflops"], 250);
  EXPECT_EQ(list[0]["time_over_full"], 0.53);
  EXPECT_FALSE(list[0].contains("gbps"));
  EXPECT_EQ(list[1]["direction"], "decode");
  EXPECT_DOUBLE_EQ(list[1]["gbps"], 100);
  EXPECT_DOUBLE_EQ(list[1]["peak_gbps"], 200);
  EXPECT_DOUBLE_EQ(list[1]["share"], 0.5);
}

TEST(BenchReport, OnAGpuThereIsNoPeak) {
  Record record = decode_record();
  record.device = "cuda:0";
  const auto list = nlohmann::json::parse(to_json(std::vector{Report{.title = "", .records = {record}}}));
  EXPECT_EQ(list[0]["device"], "cuda:0");
  EXPECT_DOUBLE_EQ(list[0]["gbps"], 100);
  for (const char* const key : {"peak_gflops", "peak_gbps", "share", "share_low", "share_high"})
    EXPECT_FALSE(list[0].contains(key)) << key;
  const draw::Table table = gpu_table("t", std::vector{record});
  EXPECT_EQ(table.columns[1].header, "TB/s");
  EXPECT_EQ(table.rows[0].cells, (std::vector<std::string>{"10.0 ms", "0.10", "9.00 ms–12.0 ms", "0"}));
}

TEST(BenchReport, WhatADeviceDoesNotHaveIsLeftOutAndSaid) {
  Report report;
  const auto missing = [] { throw std::invalid_argument("[softmax] is not implemented on cuda:0"); };
  EXPECT_TRUE(is_there(report, [] {}));
  EXPECT_FALSE(is_there(report, missing));
  EXPECT_FALSE(is_there(report, missing));
  EXPECT_EQ(report.notes, (std::vector<std::string>{"Left out: [softmax] is not implemented on cuda:0."}));
  EXPECT_THROW(is_there(report, [] { throw std::invalid_argument("[softmax] x has no rows"); }),
               std::invalid_argument);
}

TEST(BenchReport, JsonOfAProductHasItsSizes) {
  Record record = forward_record();
  record.product = ProductSize{1, 2, 3};
  const auto list = nlohmann::json::parse(to_json(std::vector{Report{.title = "", .records = {record}}}));
  EXPECT_EQ(list[0]["m"], 1);
  EXPECT_EQ(list[0]["n"], 2);
  EXPECT_EQ(list[0]["k"], 3);
}

TEST(BenchReport, NothingMeasuredIsAnEmptyList) { EXPECT_EQ(to_json({}), "[]\n"); }

TEST(BenchReport, TableSaysRateAndShare) {
  const draw::Table flops = speed_table("t", std::vector{forward_record()});
  EXPECT_EQ(flops.columns[1].header, "GFLOP/s");
  EXPECT_EQ(flops.rows[0].cells, (std::vector<std::string>{"10.0 ms", "200", "250", "80.0%", "70.0–85.0%"}));
  const draw::Table bytes = speed_table("t", std::vector{decode_record()});
  EXPECT_EQ(bytes.columns[1].header, "GB/s");
  EXPECT_EQ(bytes.rows[0].cells[3], "50.0%");
}

TEST(BenchReport, UnitsHaveThreeDigits) {
  EXPECT_EQ(format_seconds(5e-10), "0.50 ns");
  EXPECT_EQ(format_seconds(2.5e-7), "250 ns");
  EXPECT_EQ(format_seconds(1.234e-3), "1.23 ms");
  EXPECT_EQ(format_seconds(99.97e-6), "100 µs");
  EXPECT_EQ(format_seconds(61.5), "61.5 s");
  EXPECT_EQ(format_bytes(0), "0.00 B");
  EXPECT_EQ(format_bytes(68.7e9), "68.7 GB");
}

}  // namespace
}  // namespace attend::bench
