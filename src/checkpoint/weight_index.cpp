#include "checkpoint/weight_index.h"

#include <algorithm>

#include "io/json_reader.h"

namespace attend::checkpoint {
namespace {

std::size_t file_number(WeightIndex& index, io::JsonReader& json, std::string_view tensor) {
  const std::string_view name = json.string(tensor);
  // Files come in runs, so look at the latest first.
  const auto found = std::find(index.files.rbegin(), index.files.rend(), name);
  if (found != index.files.rend()) return static_cast<std::size_t>(index.files.rend() - found) - 1;
  if (!io::is_plain_name(name) || !name.ends_with(".safetensors")) {
    io::fail(json.file(), tensor, "is in \"", io::shown(name),
             "\", which is not the name of a .safetensors file beside this one");
  }
  if (index.files.size() == kMaxShards)
    io::fail(json.file(), tensor, "is in one file too many: at most ", kMaxShards);
  index.files.emplace_back(name);
  return index.files.size() - 1;
}

}  // namespace

WeightIndex parse_index(io::FileText text) {
  WeightIndex index;
  index.text = std::move(text);
  io::JsonReader json(index.text.name, index.text.span());
  bool has_map = false;
  json.object("", [&](std::string_view key) {
    if (key != "weight_map") return json.skip(key);
    if (has_map) io::fail(json.file(), "", "has the key \"weight_map\" twice");
    has_map = true;
    json.object(key, [&](std::string_view tensor) {
      index.tensors.emplace_back(tensor, file_number(index, json, tensor));
    });
  });
  json.end();
  if (!has_map) io::fail(index.text.name, "", "has no weight_map");
  if (index.tensors.empty()) io::fail(index.text.name, "weight_map", "names no tensor");
  std::sort(index.tensors.begin(), index.tensors.end());
  return index;
}

}  // namespace attend::checkpoint
