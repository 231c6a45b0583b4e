#include <attend/checkpoint.h>
#include <attend/model_files.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "checkpoint/contents.h"
#include "checkpoint/gguf_contents.h"
#include "checkpoint/safetensors_header.h"
#include "checkpoint/weight_index.h"
#include "io/fail.h"
#include "io/mapped_file.h"

namespace attend {

using namespace checkpoint;

namespace {

namespace fs = std::filesystem;

// One file: its header, and its bytes.
struct Shard {
  explicit Shard(io::InputFile file) : header(read_header(file)), mapped(std::move(file)) {}

  const TensorEntry* find(std::string_view name) const {
    const auto found =
        std::lower_bound(header.tensors.begin(), header.tensors.end(), name,
                         [](const TensorEntry& entry, std::string_view n) { return entry.name < n; });
    return found == header.tensors.end() || found->name != name ? nullptr : &*found;
  }
  const std::byte* data(const TensorEntry& entry) const {
    return mapped.data() + header.data_start + entry.begin;
  }
  const std::string& name() const { return mapped.file().name(); }

  SafetensorsHeader header;
  io::MappedFile mapped;
};

struct Place {
  const Shard* shard;
  const TensorEntry* entry;
};

bool aligned(const std::byte* data, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) == 0;
}

Dims dims_of(const TensorEntry& entry) {
  return Dims(std::span(entry.shape).first(static_cast<std::size_t>(entry.rank)));
}

}  // namespace

namespace {

// One safetensors file, or several with an index.
struct SafetensorsContents : Checkpoint::Contents {
  std::string name;
  std::vector<std::unique_ptr<const Shard>> shards;
  std::optional<WeightIndex> index;
  mutable std::mutex copying;
  mutable std::map<const TensorEntry*, Tensor> copies;  // of tensors that are not aligned

  std::vector<std::string> names() const override;
  bool contains(std::string_view tensor) const override { return find(tensor).entry != nullptr; }
  TensorInfo info(std::string_view tensor) const override;
  std::map<std::string, std::string> metadata() const override;
  TensorForm form(std::string_view tensor) const override;
  ConstTensorView tensor(std::string_view tensor) const override;
  void require_intact() const override {
    for (const auto& shard : shards) shard->mapped.require_intact();
  }
  void forget(std::string_view tensor) const override {
    const auto [shard, entry] = require(tensor);
    shard->mapped.forget(shard->data(*entry), entry->end - entry->begin);
  }

  Place find(std::string_view tensor) const {
    const Shard* shard = shards.front().get();
    if (index) {
      const auto found =
          std::lower_bound(index->tensors.begin(), index->tensors.end(), std::pair(tensor, std::size_t{0}));
      if (found == index->tensors.end() || found->first != tensor) return {nullptr, nullptr};
      shard = shards[found->second].get();
    }
    return {shard, shard->find(tensor)};
  }

  Place require(std::string_view tensor) const {
    const Place place = find(tensor);
    if (place.entry == nullptr) io::fail(name, tensor, "is not there");
    return place;
  }

  ConstTensorView copy_of(const Place& place, const Dims& shape, DType dtype) const {
    const std::lock_guard lock(copying);
    const auto [position, is_new] = copies.try_emplace(place.entry);
    if (is_new) {
      try {
        Tensor copy(dtype, shape);
        place.shard->mapped.file().read(
            place.shard->header.data_start + place.entry->begin,
            {static_cast<char*>(copy.view().raw()), place.entry->end - place.entry->begin});
        position->second = std::move(copy);
      } catch (...) {
        copies.erase(position);
        throw;
      }
    }
    return std::as_const(position->second).view();
  }
};

// Every tensor of the index must be in the file it names.
void check_index(const std::string& name, const WeightIndex& index,
                 const std::vector<std::unique_ptr<const Shard>>& shards) {
  for (const auto& [tensor, file] : index.tensors) {
    if (shards[file]->find(tensor) == nullptr)
      io::fail(name, tensor, "is not in ", io::shown(index.files[file]));
  }
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// A file of weights, or an index in this folder whose files are opened now.
std::shared_ptr<const Checkpoint::Contents> read_contents(std::string name, const fs::path& folder,
                                                          io::InputFile file) {
  if (begins_as_gguf(file)) return std::make_shared<const Gguf::Contents>(std::move(file));
  auto contents = std::make_shared<SafetensorsContents>();
  contents->name = std::move(name);
  if (fs::path(file.name()).extension() != ".json") {
    contents->shards.push_back(std::make_unique<const Shard>(std::move(file)));
    return contents;
  }
  contents->index = parse_index(io::read_text(file, kMaxIndexBytes));
  for (const std::string& shard : contents->index->files) {
    contents->shards.push_back(std::make_unique<const Shard>(io::open_inside(folder, shard)));
  }
  check_index(file.name(), *contents->index, contents->shards);
  return contents;
}

std::vector<std::string> SafetensorsContents::names() const {
  std::vector<std::string> names;
  if (index) {
    for (const auto& [tensor, file] : index->tensors) names.emplace_back(tensor);
  } else {
    for (const TensorEntry& entry : shards.front()->header.tensors) names.emplace_back(entry.name);
  }
  return names;
}

TensorInfo SafetensorsContents::info(std::string_view tensor) const {
  const auto [shard, entry] = require(tensor);
  return {std::string(entry->type->name),
          {entry->shape.begin(), entry->shape.begin() + entry->rank},
          static_cast<std::int64_t>(entry->end - entry->begin),
          shard->name()};
}

std::map<std::string, std::string> SafetensorsContents::metadata() const {
  std::map<std::string, std::string> all;
  for (const auto& shard : shards) {
    for (const auto& [key, value] : shard->header.metadata) all.emplace(key, value);
  }
  return all;
}

TensorForm SafetensorsContents::form(std::string_view tensor) const {
  const auto [shard, entry] = require(tensor);
  if (!entry->type->dtype)
    io::fail(shard->name(), tensor, "holds ", entry->type->name, ", which attend does not compute with");
  if (entry->rank > kMaxRank) {
    io::fail(shard->name(), tensor, "has ", entry->rank, " dimensions, expected at most ", kMaxRank);
  }
  return {*entry->type->dtype, dims_of(*entry)};
}

ConstTensorView SafetensorsContents::tensor(std::string_view tensor) const {
  const auto [dtype, shape] = form(tensor);
  const Place place = require(tensor);
  const auto& [shard, entry] = place;
  if (entry->begin == entry->end) return {nullptr, dtype, shape, row_major_strides(shape)};
  shard->mapped.require_intact();
  const std::byte* const data = shard->data(*entry);
  if (!aligned(data, dtype)) return copy_of(place, shape, dtype);
  return {data, dtype, shape, row_major_strides(shape)};
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return Checkpoint(read_contents(path.string(), folder_of(path), io::InputFile(path)));
  for (const char* const name : {kSingle, kIndex}) {
    if (io::exists_inside(path, name))
      return Checkpoint(read_contents(path.string(), path, io::open_inside(path, name)));
  }
  io::fail(path.string(), "", "has neither ", kSingle, " nor ", kIndex);
}

Checkpoint Checkpoint::open(const ModelFile& file) {
  return Checkpoint(read_contents(file.string(), folder_of(file.path()), file.opened()->duplicate()));
}

std::vector<std::string> Checkpoint::names() const { return contents_->names(); }
bool Checkpoint::contains(std::string_view name) const { return contents_->contains(name); }
TensorInfo Checkpoint::info(std::string_view name) const { return contents_->info(name); }
std::map<std::string, std::string> Checkpoint::metadata() const { return contents_->metadata(); }
TensorForm Checkpoint::form(std::string_view name) const { return contents_->form(name); }
ConstTensorView Checkpoint::tensor(std::string_view name) const { return contents_->tensor(name); }
std::optional<StoredBlocks> Checkpoint::blocks(std::string_view name) const {
  return contents_->blocks(name);
}

ConstTensorView Checkpoint::tensor(std::string_view name, const Dims& shape) const {
  if (const Dims stored = form(name).shape; stored != shape)
    io::fail(info(name).file, name, "has shape ", to_string(stored), ", expected ", to_string(shape));
  return tensor(name);
}

void Checkpoint::require_intact() const { contents_->require_intact(); }
void Checkpoint::forget(std::string_view name) const { contents_->forget(name); }

}  // namespace attend
