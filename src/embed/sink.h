// Where vectors go: an array file, or lines of JSON.
#pragma once

#include <attend/tensor.h>
#include <attend/tokenizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attend::embed {

enum class Grain : std::uint8_t { text, token, word };

// What a row is the vector of: a token or a word.
struct Unit {
  std::string text;  // a token as in the vocabulary, a word as in the text
  TextSpan place;    // its characters
  std::int32_t id = -1;
  bool special = false;
};

struct EmbeddedText {
  std::int64_t index = 0;  // from 0
  std::string_view text{};
  ConstTensorView vectors{};  // (rows, size); one row if it is of the whole text
  std::vector<Unit> units{};
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void add(const EmbeddedText& text) = 0;
  virtual void finish() = 0;  // without this call no file is left
};

using Write = std::function<void(std::string_view)>;

// By the extension of `file`: .npy, .npz, .safetensors or .jsonl; "" writes lines of JSON with `write`.
// Throws std::invalid_argument for another extension, and for units in a .npy, which holds a single array.
std::unique_ptr<Sink> make_sink(const std::string& file, Grain grain, std::int64_t size, const Write& write);

}  // namespace attend::embed
