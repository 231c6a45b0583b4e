#include "app/max_tokens.h"

#include <charconv>
#include <limits>

#include "app/command.h"
#include "base/error.h"

namespace attend::app {

std::optional<std::int64_t> tokens_wanted(const std::optional<std::string>& given) {
  if (!given) return std::nullopt;
  if (*given == "all") return std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 0;
  const char* const end = given->data() + given->size();
  const auto [stop, error] = std::from_chars(given->data(), end, count);
  if (error != std::errc() || stop != end || count < 1)
    throw UsageError("--max-tokens is \"" + *given + "\", expected a number from 1, or all");
  return count;
}

void require_room(const TextModel& model, std::int64_t wanted) {
  const std::int64_t special = model.tokenizer().special_count();
  if (wanted <= special)
    throw UsageError(joined("--max-tokens is ", wanted, ", but ", special, " special tokens take that many"));
}

std::string hint_at_max_tokens(const Reading& reading) {
  if (!reading.has_model() || reading.has_source()) return {};
  const std::int64_t most = reading.model().most_tokens();
  const std::int64_t whole = reading.size() + reading.tokens().dropped;
  if (whole <= most) return joined(" --max-tokens ", most, " reads all of it.");
  return joined(most > reading.size() ? joined(" --max-tokens ", most, " reads more, and") : "",
                " --max-tokens all reads the whole text, in windows.");
}

}  // namespace attend::app
