#include "explore/readings.h"

#include <algorithm>
#include <iterator>
#include <random>

#include "base/error.h"
#include "http/message.h"

namespace attend::explore {
namespace {

std::size_t bytes_of(const TextModel& model, std::size_t tokens) {
  const ModelDescription& description = model.transformer().description();
  return tokens * static_cast<std::size_t>(description.layer_count() * description.hidden_size) * 3 *
         sizeof(float);
}

std::size_t bytes_of(const Reading& reading) {
  if (reading.has_model()) return bytes_of(reading.model(), static_cast<std::size_t>(reading.size()));
  std::int64_t numbers = 0;
  for (std::int64_t number = 1; number <= reading.layers(); ++number) {
    const Reading::Layer& layer = reading.layer(number);
    numbers += layer.q.count() + layer.k.count() + layer.v.count();
    if (layer.options.bias.given()) numbers += layer.options.bias.count();
  }
  return static_cast<std::size_t>(numbers) * sizeof(float);
}

// Eight hexadecimal digits, a dash, a number.
bool is_id(std::string_view id) {
  const auto digits = [](std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == text.npos;
  };
  return id.size() > 9 && id.size() < 30 && id[8] == '-' && digits(id.substr(0, 8), "0123456789abcdef") &&
         digits(id.substr(9), "0123456789");
}

// Maps of the same units have the same name.
int units_name(const MapName& map) {
  return (map.tokens ? 1 : 0) + (map.special ? 2 : 0) + (map.first ? 4 : 0);
}

}  // namespace

Readings::Readings(std::size_t most_tile_bytes) : most_tile_bytes_(most_tile_bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  for (int i = 0; i < 8; ++i) run_ += kDigits[random() % 16];
}

std::string Readings::read(const TextModel& model, const std::string& text, const std::string& second) {
  const Encoding tokens = second.empty() ? model.encode(text) : model.encode(text, second);
  if (tokens.size() == 0) throw http::RequestError(400, "the text has no tokens");
  make_room_for(bytes_of(model, tokens.size()));
  return add(Reading(model, text, second, {.keep = Keep::attention}));
}

std::string Readings::keep(Reading reading) {
  make_room_for(bytes_of(reading));
  return add(std::move(reading));
}

std::string Readings::add(Reading reading) {
  auto kept = std::make_unique<Kept>(Kept{.id = joined(run_, '-', ++count_), .reading = std::move(reading)});
  kept_.push_front(std::move(kept));
  return kept_.front()->id;
}

void Readings::make_room_for(std::size_t bytes) {
  const auto total = [&] {
    std::size_t sum = bytes;
    for (const auto& kept : kept_) sum += bytes_of(kept->reading);
    return sum;
  };
  while (!kept_.empty() && (kept_.size() >= kMostReadings || total() > kMostReadingBytes)) {
    std::erase_if(tiles_, [&](const Tiles& entry) { return entry.kept == kept_.back().get(); });
    kept_.pop_back();
  }
}

Readings::Kept& Readings::kept(std::string_view id) const {
  if (!is_id(id)) throw http::RequestError(404, "there is nothing at this address");
  for (const auto& kept : kept_) {
    if (kept->id == id) return *kept;
  }
  throw http::RequestError(410, "that text is no longer in memory: read it again");
}

const Reading& Readings::reading(std::string_view id) const { return kept(id).reading; }

std::span<const Word> Readings::Kept::units_of(const MapName& map) {
  const auto [place, missing] = units.try_emplace(units_name(map));
  std::vector<Word>& list = place->second;
  if (!missing) return list;
  list = map.tokens ? single_tokens(reading) : reading.words();
  // What is left out is shown if there is nothing else.
  const bool plain = std::any_of(list.begin(), list.end(), [](const Word& unit) { return !unit.special; });
  if (!map.special && plain) std::erase_if(list, [](const Word& unit) { return unit.special; });
  if (!map.first) list = without_first_token(std::move(list));
  return list;
}

LensTiles& Readings::tiles(std::string_view id, const MapName& map) {
  Kept& own = kept(id);
  const auto place = std::find_if(tiles_.begin(), tiles_.end(),
                                  [&](const Tiles& entry) { return entry.kept == &own && entry.map == map; });
  if (place != tiles_.end()) {
    tiles_.splice(tiles_.begin(), tiles_, place);
  } else {
    const LensQuery query{.method = map.method, .heads = map.heads};
    tiles_.push_front({&own, map, LensTiles(own.reading, query, own.units_of(map))});
  }
  return tiles_.front().tiles;
}

LensTile Readings::tile(std::string_view id, const MapName& map, std::int64_t level, std::int64_t y,
                        std::int64_t x) {
  LensTile result = tiles(id, map).tile(level, y, x);
  drop_tiles();
  return result;
}

std::vector<double> Readings::row(std::string_view id, const MapName& map, std::size_t unit) {
  std::vector<double> result = tiles(id, map).row(unit);
  drop_tiles();
  return result;
}

std::size_t Readings::tile_bytes() const {
  std::size_t sum = 0;
  for (const Tiles& entry : tiles_) sum += entry.tiles.bytes();
  return sum;
}

// Drops first the fine levels of the least recently used maps, then whole maps. The one in use stays.
void Readings::drop_tiles() {
  std::size_t sum = tile_bytes();
  for (auto entry = tiles_.rbegin(); sum > most_tile_bytes_ && entry != std::prev(tiles_.rend()); ++entry) {
    sum -= entry->tiles.bytes();
    entry->tiles.forget_details();
    sum += entry->tiles.bytes();
  }
  while (sum > most_tile_bytes_ && tiles_.size() > 1) {
    sum -= tiles_.back().tiles.bytes();
    tiles_.pop_back();
  }
}

}  // namespace attend::explore
