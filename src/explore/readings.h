// The most recent texts and the tiles of their maps: as many as fit in a fixed amount of memory.
#pragma once

#include <attend/lens_sink.h>
#include <attend/lens_tiles.h>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::explore {

inline constexpr std::size_t kMostReadings = 4;
// For queries, keys and values together. The newest reading is kept whatever its size: 240 MB for 8,192
// tokens and 6 layers × 384.
inline constexpr std::size_t kMostReadingBytes = std::size_t{256} << 20;
// For tiles: two complete maps of 8,192 tokens, and the coarsest levels of 50 more.
inline constexpr std::size_t kMostTileBytes = std::size_t{16} << 20;

// Identifies a map of a reading.
struct MapName {
  LensMethod method = LensMethod::raw;
  HeadChoice heads{};
  bool tokens = false;  // between tokens, not words
  bool special = true;  // with special tokens; without them rows are normalised again
  bool first = true;    // with the first token; likewise
  friend bool operator==(const MapName& a, const MapName& b) {
    return a.method == b.method && a.heads.layer == b.heads.layer && a.heads.head == b.heads.head &&
           a.tokens == b.tokens && a.special == b.special && a.first == b.first;
  }
};

class Readings {
 public:
  explicit Readings(std::size_t most_tile_bytes = kMostTileBytes);

  // Reads a text, after dropping older ones that no longer fit. Returns its id.
  std::string read(const TextModel& model, const std::string& text, const std::string& second);

  // The same for a reading that is there already.
  std::string keep(Reading reading);

  // Throws http::RequestError: 410 for an id that is no longer kept, 404 for what is not an id.
  const Reading& reading(std::string_view id) const;

  // Asks the tiles of one map something; their memory counts, and the least recently used ones make room.
  LensTile tile(std::string_view id, const MapName& map, std::int64_t level, std::int64_t y, std::int64_t x);
  std::vector<double> row(std::string_view id, const MapName& map, std::size_t unit);

  std::size_t tile_bytes() const;

 private:
  struct Kept {
    std::string id;
    Reading reading;
    std::map<int, std::vector<Word>> units{};  // by what units_name() says, each made when it is asked for

    std::span<const Word> units_of(const MapName& map);
  };
  struct Tiles {
    const Kept* kept;
    MapName map;
    LensTiles tiles;
  };
  Kept& kept(std::string_view id) const;
  LensTiles& tiles(std::string_view id, const MapName& map);
  std::string add(Reading reading);
  void make_room_for(std::size_t bytes);
  void drop_tiles();

  std::size_t most_tile_bytes_;
  std::string run_;  // distinguishes the ids of this run from those of another
  std::int64_t count_ = 0;
  std::list<std::unique_ptr<Kept>> kept_;  // newest first
  std::list<Tiles> tiles_;                 // most recently used first
};

}  // namespace attend::explore
