#include "checkpoint/array_file.h"

#include <algorithm>

#include "checkpoint/npy.h"
#include "io/fail.h"

namespace attend::checkpoint {
namespace {

std::string_view without_extension(std::string_view member) {
  if (member.ends_with(".npy")) member.remove_suffix(4);
  return member;
}

}  // namespace

ArrayFile::ArrayFile(const std::filesystem::path& path) : name_(path.string()) {
  const std::filesystem::path extension = path.extension();
  if (extension == ".safetensors") {
    checkpoint_ = Checkpoint::open(path);
    return;
  }
  if (extension != ".npy" && extension != ".npz")
    io::fail(io::shown(name_), "", "does not end in .npy, .npz or .safetensors");
  file_.emplace(path);
  if (extension == ".npz") members_ = list_zip(io::bytes_of(*file_));
}

const ZipMember* ArrayFile::find(std::string_view array) const {
  const auto found = std::find_if(members_->begin(), members_->end(), [&](const ZipMember& member) {
    return without_extension(member.name) == array;
  });
  return found == members_->end() ? nullptr : &*found;
}

std::vector<std::string> ArrayFile::arrays() const {
  if (checkpoint_) return checkpoint_->names();
  if (!members_) return {""};
  std::vector<std::string> names;
  for (const ZipMember& member : *members_) names.emplace_back(without_extension(member.name));
  return names;
}

bool ArrayFile::contains(std::string_view array) const {
  if (checkpoint_) return checkpoint_->contains(array);
  return members_ ? find(array) != nullptr : array.empty();
}

Tensor ArrayFile::read(std::string_view array) const {
  if (!contains(array)) io::fail(name_, array, "is not there");
  if (checkpoint_) {
    Tensor tensor = copy_of(checkpoint_->tensor(array));
    checkpoint_->require_intact();
    return tensor;
  }
  const io::ByteSource bytes = io::bytes_of(*file_);
  if (!members_) return read_npy(bytes, "", 0, bytes.size);
  const ZipMember& member = *find(array);
  return read_npy(bytes, array, member.offset, member.size, &member.crc);
}

}  // namespace attend::checkpoint
