#include "text/truncation.h"

#include <algorithm>

#include "base/error.h"

namespace attend::text {
namespace {

void keep(Part& part, std::int64_t count, bool from_left) {
  Encoding& encoding = part.encoding;
  const auto size = static_cast<std::int64_t>(encoding.size());
  if (count >= size) return;
  const auto cut = [&](auto& list) {
    if (list.empty()) return;
    if (from_left) {
      list.erase(list.begin(), list.end() - count);
    } else {
      list.resize(static_cast<std::size_t>(count));
    }
  };
  cut(encoding.ids);
  cut(encoding.type_ids);
  cut(encoding.offsets);
  cut(encoding.words);
  cut(encoding.special);
  cut(part.white_before);
  cut(part.white_after);
  encoding.dropped += size - count;
}

}  // namespace

Truncation read_truncation(const io::JsonValue& truncation) {
  truncation.only_keys({"direction", "max_length", "strategy", "stride"});
  Truncation read;
  if (const auto direction = truncation.find("direction")) {
    const std::string_view name = direction->string();
    if (name != "Left" && name != "Right") direction->fail(io::quoted(name), " is neither Left nor Right");
    read.from_left = name == "Left";
  }
  read.max_length = truncation.at("max_length").integer(0, std::int64_t{1} << 40);
  truncation.at("stride").integer(0, std::int64_t{1} << 40);
  const io::JsonValue strategy = truncation.at("strategy");
  const std::string_view name = strategy.string();
  if (name == "OnlyFirst") {
    read.strategy = Truncation::Strategy::only_first;
  } else if (name == "OnlySecond") {
    read.strategy = Truncation::Strategy::only_second;
  } else if (name != "LongestFirst") {
    strategy.fail(io::quoted(name), " is not one of LongestFirst, OnlyFirst, OnlySecond");
  }
  return read;
}

void truncate(std::vector<Part>& parts, const Truncation& truncation, std::int64_t room) {
  const auto size = [&](std::size_t i) {
    return i < parts.size() ? static_cast<std::int64_t>(parts[i].encoding.size()) : 0;
  };
  const std::int64_t surplus = size(0) + size(1) - room;
  if (surplus <= 0) return;
  const bool left = truncation.from_left;
  if (room == 0) {
    for (Part& part : parts) keep(part, 0, left);
    return;
  }
  if (truncation.strategy != Truncation::Strategy::longest_first) {
    const std::size_t target = truncation.strategy == Truncation::Strategy::only_second ? 1 : 0;
    if (target >= parts.size()) refuse("tokenizer", "only a second text may be truncated, and there is none");
    if (size(target) <= surplus) {
      refuse("tokenizer", "the ", target == 0 ? "first" : "second", " text alone is to be truncated, by ",
             surplus, " tokens, and has ", size(target));
    }
    keep(parts[target], size(target) - surplus, left);
    return;
  }
  if (parts.size() == 1) {
    keep(parts[0], room, left);
    return;
  }
  // The shorter text stays whole if there is room, else both get half.
  const std::size_t shorter = size(0) > size(1) ? 1 : 0;
  std::int64_t few = size(shorter);
  std::int64_t many = few > room ? few : std::max(few, room - few);
  if (few + many > room) {
    few = room / 2;
    many = few + room % 2;
  }
  keep(parts[shorter], few, left);
  keep(parts[1 - shorter], many, left);
}

}  // namespace attend::text
