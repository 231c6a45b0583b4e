#include "kernels/isa.h"

#include <attend/isa.h>
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/error.h"
#include "kernels/extensions.h"

namespace attend {
namespace {

using kernels::Extension;

constexpr unsigned bit(Extension extension) { return static_cast<unsigned>(extension); }

constexpr unsigned kVnni = bit(Extension::avx512_vnni), kBf16 = bit(Extension::avx512_bf16),
                   kAvxVnni = bit(Extension::avx_vnni), kDot = bit(Extension::neon_dot),
                   kAmx = bit(Extension::amx);

// What one name stands for: the target that Highway compiled the f32 kernels for, and what else may be used.
struct InstructionSet {
  std::string name;
  std::int64_t target = 0;
  unsigned extensions = 0;
};

struct Row {
  std::int64_t target;
  const char* name;  // our own, where Highway's is not what people say
  unsigned extensions;
};

// Best first; those of one target stand together.
constexpr Row kRows[] = {{HWY_AVX3_DL, "avx512_dl", kVnni},
                         {HWY_AVX3, "avx512_amx", kVnni | kBf16 | kAmx},
                         {HWY_AVX3, "avx512_bf16", kVnni | kBf16},
                         {HWY_AVX3, "avx512_vnni", kVnni},
                         {HWY_AVX3, "avx512", 0},
                         {HWY_AVX2, "avx2_vnni", kAvxVnni},
                         {HWY_AVX2, "avx2", 0},
                         {HWY_SSE4, "sse4", 0},
                         {HWY_NEON, "neon_dot", kDot},
                         {HWY_NEON, "neon", 0},
                         {HWY_SVE, "sve", 0},
                         {HWY_SVE2, "sve2", 0},
                         {HWY_SVE_256, "sve_256", 0},
                         {HWY_SVE2_128, "sve2_128", 0},
                         {HWY_EMU128, "scalar", 0},
                         {HWY_SCALAR, "scalar", 0}};

std::vector<InstructionSet> sets_of(std::int64_t target, unsigned extensions) {
  std::vector<InstructionSet> sets;
  for (const Row& row : kRows) {
    if (row.target == target && (row.extensions & ~extensions) == 0)
      sets.push_back({row.name, target, row.extensions});
  }
  if (sets.empty()) sets.push_back({hwy::TargetName(target), target, 0});
  return sets;
}

// What the machine has, before anything was forced, best first. Highway counts AES, which nothing here uses,
// into NEON, and finds no target on an ARM without it; it then runs the one that every machine is compiled
// for.
const std::vector<InstructionSet>& known_sets() {
  static const std::vector<InstructionSet> found = [] {
    std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    if (targets.empty()) targets.push_back(HWY_STATIC_TARGET);
    const unsigned extensions = kernels::extensions_of_this_machine();
    std::vector<InstructionSet> all;
    for (const std::int64_t target : targets) {
      for (InstructionSet& set : sets_of(target, extensions)) all.push_back(std::move(set));
    }
    return all;
  }();
  return found;
}

// The extensions that make a difference to a precision.
unsigned used_by(Precision precision) {
  switch (precision) {
    case Precision::f32:
      return 0;
    case Precision::bf16:
      return kBf16 | kAmx;
    case Precision::int8:
      return kVnni | kAvxVnni | kDot | kAmx;
  }
  return 0;
}

// Of the sets that compute alike in this precision the plainest.
const InstructionSet& plainest_like(const InstructionSet& set, Precision precision) {
  const unsigned used = used_by(precision);
  const auto alike = [&](const InstructionSet& other) {
    return other.target == set.target && (other.extensions & used) == (set.extensions & used);
  };
  return *std::find_if(known_sets().rbegin(), known_sets().rend(), alike);
}

std::atomic<const InstructionSet*> in_use{nullptr};

// An empty name is the best there is; then Highway may choose for itself.
void choose(const char* operation, std::string_view name) {
  const InstructionSet* found = name.empty() ? &known_sets().front() : nullptr;
  std::string known;
  for (const InstructionSet& set : known_sets()) {
    if (set.name == name) found = &set;
    known.append(known.empty() ? "" : ", ").append(set.name);
  }
  if (found == nullptr)
    refuse(operation, "there is no instruction set \"", name, "\" here; there are ", known);
  hwy::SetSupportedTargetsForTest(name.empty() ? 0 : found->target);  // 0: all of them
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  in_use.store(found, std::memory_order_release);
}

void choose_default(const char* operation) {
  const char* const wanted = std::getenv("ATTEND_ISA");
  choose(operation, wanted == nullptr ? "" : wanted);
}

}  // namespace

std::vector<std::string> available_isas(Precision precision) {
  std::vector<std::string> names;
  for (const InstructionSet& set : known_sets()) {
    const std::string& name = plainest_like(set, precision).name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string isa(Precision precision) {
  kernels::require_isa();
  return plainest_like(*in_use.load(std::memory_order_acquire), precision).name;
}

void set_isa(std::string_view name) {
  if (name.empty()) {
    choose_default("set_isa");
  } else {
    choose("set_isa", name);
  }
}

void kernels::require_isa() {
  if (in_use.load(std::memory_order_acquire) == nullptr) choose_default("ATTEND_ISA");
}

bool kernels::has_extension(Extension extension) noexcept {
  const InstructionSet* const set = in_use.load(std::memory_order_acquire);
  return set != nullptr && (set->extensions & bit(extension)) != 0;
}

}  // namespace attend
