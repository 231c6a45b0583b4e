#include "lens/head_choice.h"

#include <array>
#include <numeric>

#include "base/counting.h"

namespace attend {

namespace {
constexpr std::array<std::string_view, 5> kMethods = {"raw", "norm", "rollout", "flow", "grad"};
}

std::string_view name_of(LensMethod method) noexcept { return kMethods[static_cast<std::size_t>(method)]; }

std::optional<LensMethod> lens_method_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    if (kMethods[i] == name) return static_cast<LensMethod>(i);
  }
  return std::nullopt;
}

std::vector<std::string_view> lens_method_names() { return {kMethods.begin(), kMethods.end()}; }

namespace lens {

std::vector<std::int64_t> chosen_layers(const Reading& reading, const HeadChoice& heads) {
  if (heads.head && !heads.layer) refuse("lens", "head ", *heads.head, " of which layer?");
  if (heads.head) require_number("lens", "head", *heads.head, reading.heads());
  if (heads.layer) {
    reading.layer(*heads.layer);
    return {*heads.layer};
  }
  if (reading.layers() == 0) refuse("lens", "the model has no layers, and so no attention");
  std::vector<std::int64_t> all(static_cast<std::size_t>(reading.layers()));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

}  // namespace lens
}  // namespace attend
