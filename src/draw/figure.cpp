#include "draw/figure.h"

#include <type_traits>

namespace attend::draw {

void check(const Figure& figure) {
  for (const Part& part : figure.parts) {
    std::visit(
        [](const auto& of_kind) {
          // Bars have no sizes that could disagree.
          if constexpr (!std::is_same_v<std::decay_t<decltype(of_kind)>, Bars>) check(of_kind);
        },
        part);
  }
}

}  // namespace attend::draw
