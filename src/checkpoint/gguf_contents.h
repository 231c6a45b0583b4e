// A GGUF file that is open: its header, and its bytes.
#pragma once

#include <attend/checkpoint.h>
#include <attend/gguf.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/contents.h"
#include "checkpoint/gguf_header.h"
#include "io/mapped_file.h"

namespace attend {

// Tensors of types that attend has are looked at where they lie; others are decoded to f32, when they are
// first asked for and until they are forgotten.
struct Gguf::Contents : Checkpoint::Contents {
  explicit Contents(io::InputFile file);

  std::vector<std::string> names() const override;
  bool contains(std::string_view name) const override { return find(name) != nullptr; }
  TensorInfo info(std::string_view name) const override;
  std::map<std::string, std::string> metadata() const override;  // strings alone
  TensorForm form(std::string_view name) const override;
  ConstTensorView tensor(std::string_view name) const override;
  std::optional<StoredBlocks> blocks(std::string_view name) const override;
  void require_intact() const override { mapped.require_intact(); }
  void forget(std::string_view name) const override;

  const std::string& file() const { return mapped.file().name(); }
  std::span<const std::byte> bytes() const { return {mapped.data(), mapped.file().size()}; }
  const checkpoint::GgufTensor* find(std::string_view name) const;
  const checkpoint::GgufTensor& require(std::string_view name) const;

  io::MappedFile mapped;
  checkpoint::GgufHeader header;

 private:
  const std::byte* data(const checkpoint::GgufTensor& tensor) const {
    return mapped.data() + header.data_start + tensor.begin;
  }
  bool is_viewed(const checkpoint::GgufTensor& tensor) const;
  Tensor decoded(const checkpoint::GgufTensor& tensor) const;

  mutable std::mutex decoding_;
  mutable std::map<const checkpoint::GgufTensor*, Tensor> decoded_;
};

// Whether a file begins as GGUF files do.
bool begins_as_gguf(const io::InputFile& file);

}  // namespace attend
