// What a checkpoint is made of: the files of one format.
#pragma once

#include <attend/checkpoint.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// The functions of Checkpoint.
struct Checkpoint::Contents {
  virtual ~Contents() = default;
  virtual std::vector<std::string> names() const = 0;
  virtual bool contains(std::string_view name) const = 0;
  virtual TensorInfo info(std::string_view name) const = 0;
  virtual std::map<std::string, std::string> metadata() const = 0;
  virtual TensorForm form(std::string_view name) const = 0;
  virtual ConstTensorView tensor(std::string_view name) const = 0;
  virtual std::optional<StoredBlocks> blocks(std::string_view) const { return std::nullopt; }
  virtual void require_intact() const = 0;
  virtual void forget(std::string_view name) const = 0;
};

}  // namespace attend
