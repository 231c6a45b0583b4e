// What the architectures of GGUF files have in common: their keys, and the names of their tensors.
#pragma once

#include <attend/checkpoint.h>
#include <attend/gguf.h>
#include <attend/model_description.h>
#include <attend/transformer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/fail.h"
#include "model/tensor_names.h"

namespace attend::model {

// The keys of one architecture, "llama.block_count" as "block_count", and the tensors of the same file.
class GgufKeys {
 public:
  explicit GgufKeys(const Gguf& file)
      : file_(file), tensors_(file.tensors()), architecture_(file.string("general.architecture")) {}

  const Gguf& file() const { return file_; }
  std::string_view architecture() const { return architecture_; }
  std::string key(std::string_view name) const { return std::string(architecture_).append(".").append(name); }
  bool has(std::string_view name) const { return file_.contains(key(name)); }

  // A size, from 1 unless `low` is given. Some files have one number for each layer: they must be the same.
  std::int64_t size(std::string_view name, std::optional<std::int64_t> fallback = {},
                    std::int64_t low = 1) const;
  double number(std::string_view name, std::optional<double> fallback = {}) const;
  double positive(std::string_view name, std::optional<double> fallback = {}) const;
  double epsilon(std::string_view name) const;  // between 0 and 1, both excluded
  bool boolean(std::string_view name, bool fallback) const { return file_.boolean(key(name), fallback); }
  void refuse_experts() const;

  // Tensors of the file.
  bool has_tensor(const std::string& name) const { return tensors_.contains(name); }
  Dims shape(const std::string& name) const { return tensors_.form(name).shape; }
  std::vector<double> values(const std::string& name, std::int64_t size) const;

  template <class... Parts>
  [[noreturn]] void refuse(std::string_view name, const Parts&... parts) const {
    io::fail(file_.file(), key(name), parts...);
  }

 private:
  const Gguf& file_;
  Checkpoint tensors_;
  std::string_view architecture_;
};

// A model with the sizes that the file names, whose layers are all like this one; the layer's own sizes and
// which of its matrices have biases are filled in.
ModelDescription gguf_model(const GgufKeys& keys, LayerDescription layer);

// Of a model that writes: RMSNorm before each part, rotary positions, a gate. The pairs that rotate together
// are two halves of a head unless the file's architecture says otherwise.
LayerDescription gguf_decoder_layer(const GgufKeys& keys, RotaryPairing pairing = RotaryPairing::halves);

// Windows of this many tokens, the token itself included.
void set_gguf_window(AttentionDescription& attention, std::int64_t tokens);

// token_embd, blk.N.attn_q and so on, as decoders have them; `tensors` tells which of them are fused.
TensorNames gguf_tensor_names(const ModelDescription& description, const TensorSource& tensors);

}  // namespace attend::model
