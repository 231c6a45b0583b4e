#include "lens/rollout.h"

#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "lens/head_choice.h"
#include "lens/lens_rows.h"

namespace attend::lens {

std::int64_t path_layers(const Reading& reading, const LensQuery& query) {
  if (query.heads.head)
    refuse("lens", name_of(query.method), " follows paths through all heads of every layer, not one head");
  return chosen_layers(reading, query.heads).back();
}

void roll_out(const Reading& reading, const HeadChoice& heads, std::vector<double>& rows) {
  const auto n = static_cast<std::size_t>(reading.size());
  const auto count = static_cast<std::int64_t>(rows.size() / n);
  std::vector<std::int64_t> all(n);
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> next;
  for (std::int64_t layer = *heads.layer; layer >= 1; --layer) {
    next.assign(rows.size(), 0.0);
    const LensQuery mean{.method = LensMethod::raw, .heads = {.layer = layer}};
    for_each_row(reading, mean, all, [&](std::size_t token, std::span<const double> weights) {
      const double stays = reading.looking(layer).contains(static_cast<std::int64_t>(token)) ? 0.5 : 1;
      parallel_for(count, [&](std::int64_t r, int) noexcept {
        const auto start = static_cast<std::size_t>(r) * n;
        const double share = rows[start + token];
        if (share == 0) return;
        for (std::size_t j = 0; j < n; ++j) next[start + j] += weights[j] == 0 ? 0 : 0.5 * share * weights[j];
        next[start + token] += stays * share;
      });
    });
    rows.swap(next);
  }
}

}  // namespace attend::lens
