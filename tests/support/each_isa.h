// A test that runs once on each instruction set that this machine has.
#pragma once

#include <attend/isa.h>
#include <gtest/gtest.h>

#include <string>

namespace attend {

// class X : public EachIsa {};
// INSTANTIATE_TEST_SUITE_P(Isa, X, testing::ValuesIn(available_isas()), isa_name);
class EachIsa : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_isa(GetParam()); }
  void TearDown() override { set_isa(""); }
};

inline std::string isa_name(const testing::TestParamInfo<std::string>& isa) { return isa.param; }

}  // namespace attend
