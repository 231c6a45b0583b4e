#include <attend/isa.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/isa.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr Precision kAll[] = {Precision::f32, Precision::bf16, Precision::int8};

TEST(IsaNames, EachPrecisionHasThoseThatDifferForIt) {
  const std::vector<std::string> plain = available_isas();
  ASSERT_FALSE(plain.empty());
  for (const Precision precision : kAll) {
    std::vector<std::string> names = available_isas(precision);
    for (const std::string& name : plain)
      EXPECT_NE(std::find(names.begin(), names.end(), name), names.end())
          << name << ' ' << name_of(precision);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  }
}

TEST(IsaNames, AnyNameOfAnyPrecisionCanBeChosen) {
  for (const Precision precision : kAll) {
    for (const std::string& name : available_isas(precision)) {
      set_isa(name);
      EXPECT_EQ(isa(precision), name);
      // f32 has no instructions of its own beyond the plain ones.
      EXPECT_TRUE(name.starts_with(isa())) << name << " computes f32 by " << isa();
    }
  }
  set_isa("");
}

TEST(IsaNames, APlainOneHasNoExtensions) {
  for (const std::string& name : available_isas()) {
    set_isa(name);
    for (const kernels::Extension extension :
         {kernels::Extension::avx512_vnni, kernels::Extension::avx512_bf16, kernels::Extension::avx_vnni,
          kernels::Extension::neon_dot, kernels::Extension::amx})
      EXPECT_FALSE(kernels::has_extension(extension)) << name;
  }
  set_isa("");
}

TEST(IsaNames, TheDefaultIsTheBestForEachPrecision) {
  if (std::getenv("ATTEND_ISA") != nullptr) GTEST_SKIP() << "ATTEND_ISA has chosen another default";
  set_isa("");
  for (const Precision precision : kAll) EXPECT_EQ(isa(precision), available_isas(precision).front());
}

TEST(IsaNames, OthersAreRefusedWithTheList) {
  EXPECT_REFUSES(set_isa("avx512_fp16"), "there is no instruction set \"avx512_fp16\" here; there are ");
}

TEST(PrecisionNames, AreReadBack) {
  for (const Precision precision : kAll) EXPECT_EQ(precision_named(name_of(precision)), precision);
  EXPECT_FALSE(precision_named("fp16"));
}

}  // namespace
}  // namespace attend
