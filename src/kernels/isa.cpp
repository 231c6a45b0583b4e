#include "kernels/isa.h"

#include <attend/isa.h>
#include <hwy/highway.h>

#include <atomic>
#include <cstdlib>

#include "base/error.h"

namespace attend {
namespace {

struct Name {
  std::int64_t target;
  const char* name;
};

// Our own names where Highway's are not what people call them.
constexpr Name kNames[] = {{HWY_AVX3_DL, "avx512_dl"}, {HWY_AVX3, "avx512"},     {HWY_AVX2, "avx2"},
                           {HWY_SSE4, "sse4"},         {HWY_NEON, "neon"},       {HWY_SVE, "sve"},
                           {HWY_SVE2, "sve2"},         {HWY_SVE_256, "sve_256"}, {HWY_SVE2_128, "sve2_128"},
                           {HWY_EMU128, "scalar"},     {HWY_SCALAR, "scalar"}};

std::string name_of_target(std::int64_t target) {
  for (const Name& known : kNames) {
    if (known.target == target) return known.name;
  }
  return hwy::TargetName(target);
}

// What the machine has, before anything was forced. Lower bits are better targets. Highway counts AES, which
// nothing here uses, into NEON, and finds no target on an ARM without it; it then runs the one that every
// machine is compiled for.
const std::vector<std::int64_t>& targets() {
  static const std::vector<std::int64_t> found = [] {
    std::vector<std::int64_t> all = hwy::SupportedAndGeneratedTargets();
    if (all.empty()) all.push_back(HWY_STATIC_TARGET);
    return all;
  }();
  return found;
}

std::atomic<bool> chosen{false};

void choose(const char* operation, std::string_view name) {
  targets();  // looked up before the first choice can hide any
  std::int64_t mask = 0;
  std::string known;
  for (const std::int64_t target : targets()) {
    if (name_of_target(target) == name) mask = target;
    known.append(known.empty() ? "" : ", ").append(name_of_target(target));
  }
  if (mask == 0 && !name.empty()) {
    refuse(operation, "there is no instruction set \"", name, "\" here; there are ", known);
  }
  hwy::SetSupportedTargetsForTest(mask);  // 0: all of them again
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  chosen.store(true);
}

void choose_default(const char* operation) {
  const char* const wanted = std::getenv("ATTEND_ISA");
  choose(operation, wanted == nullptr ? "" : wanted);
}

}  // namespace

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const std::int64_t target : targets()) names.push_back(name_of_target(target));
  return names;
}

std::string isa() {
  kernels::require_isa();
  const std::int64_t in_use = hwy::SupportedTargets() & HWY_TARGETS;
  return name_of_target(in_use == 0 ? targets().front() : in_use & ~(in_use - 1));
}

void set_isa(std::string_view name) {
  if (name.empty()) {
    choose_default("set_isa");
  } else {
    choose("set_isa", name);
  }
}

void kernels::require_isa() {
  if (!chosen.load(std::memory_order_acquire)) choose_default("ATTEND_ISA");
}

}  // namespace attend
