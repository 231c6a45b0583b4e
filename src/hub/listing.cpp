#include "hub/listing.h"

#include <algorithm>
#include <array>
#include <set>

#include "io/fail.h"
#include "io/json_reader.h"
#include "io/open_file.h"

namespace attend::hub {
namespace {

using io::fail;

constexpr std::array<std::string_view, 17> kNames = {"config.json",
                                                     "tokenizer.json",
                                                     "tokenizer_config.json",
                                                     "special_tokens_map.json",
                                                     "added_tokens.json",
                                                     "vocab.txt",
                                                     "vocab.json",
                                                     "merges.txt",
                                                     "model.safetensors",
                                                     "modules.json",
                                                     "model.safetensors.index.json",
                                                     "config_sentence_transformers.json",
                                                     "sentence_bert_config.json",
                                                     "sentence_roberta_config.json",
                                                     "sentence_distilbert_config.json",
                                                     "sentence_xlm-roberta_config.json",
                                                     "sentencepiece.bpe.model"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// model-00001-of-00002.safetensors
bool is_shard(std::string_view name) { return name.starts_with("model-") && name.ends_with(".safetensors"); }

// "1_Pooling/config.json" -> "1_Pooling", "config.json". A file anywhere else gives an empty name.
std::pair<std::string_view, std::string_view> split(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return {"", path};
  const std::string_view folder = path.substr(0, slash), name = path.substr(slash + 1);
  const std::size_t digits =
      static_cast<std::size_t>(std::find_if_not(folder.begin(), folder.end(), is_digit) - folder.begin());
  const bool module = digits > 0 && digits < folder.size() && folder[digits] == '_';
  return module ? std::pair(folder, name) : std::pair(folder, std::string_view());
}

}  // namespace

Listing parse_listing(const std::string& repository, std::string text) {
  Listing listing;
  io::JsonReader json(repository, text, "the hub's answer");
  json.object("the hub's answer", [&](std::string_view key) {
    if (key == "sha") {
      listing.commit = json.string(key);
    } else if (key == "siblings") {
      json.array(key, [&] {
        json.object(key, [&](std::string_view field) {
          if (field == "rfilename") {
            listing.files.emplace_back(json.string(field));
          } else {
            json.skip(field);
          }
        });
      });
    } else {
      json.skip(key);
    }
  });
  json.end();
  const auto is_hex = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  if (listing.commit.size() != 40 || !std::all_of(listing.commit.begin(), listing.commit.end(), is_hex)) {
    fail(repository, "", "the hub's answer names no commit");
  }
  return listing;
}

std::vector<std::string> wanted_files(const std::string& repository, const std::vector<std::string>& files) {
  const std::set<std::string_view> all(files.begin(), files.end());
  std::vector<std::string> wanted;
  bool weights = false;
  for (const std::string& path : files) {
    const auto [folder, name] = split(path);
    if (!io::is_plain_name(name)) continue;
    const bool parts = is_shard(name) || name == "model.safetensors.index.json";
    const std::string whole = (folder.empty() ? "" : std::string(folder) + "/") + "model.safetensors";
    if (parts && all.contains(whole)) continue;
    if (!is_shard(name) && std::find(kNames.begin(), kNames.end(), name) == kNames.end()) continue;
    weights = weights || name.ends_with(".safetensors");
    wanted.push_back(path);
  }
  if (!weights)
    fail(repository, "", "has no safetensors files, the only format of weights that attend reads");
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

}  // namespace attend::hub
