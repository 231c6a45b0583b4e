// One pass of any model over a text, recorded by another program: what its attention read, without the model.
// A Reading of it answers what needs no more than that; what needs the model's weights is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <attend/attention.h>
#include <attend/file_error.h>
#include <attend/tokenizer.h>

namespace attend {

struct RecordedToken {
  std::string text{};   // as the vocabulary writes it
  std::int32_t id = 0;  // the same for the same token
  TextSpan place{};     // in the recording's text; {0, 0} where it is not known
  bool special = false;
};

// The self-attention of one layer: queries, keys and values as attention() takes them (positions applied),
// and what its scores depend on besides; or the weights themselves.
struct RecordedLayer {
  std::string name{};    // where it is in its model: "transformer.h.0.attn"; may be empty
  Tensor q{}, k{}, v{};  // f32, (n, H, D), (n, key heads, D) and (n, key heads, Dv)
  Tensor weights{};      // f32, (H, n, n), where there are none of these

  std::optional<double> scale{};  // default 1 / sqrt(D)
  bool causal = false;
  Window window{};
  double softcap = 0;                           // 0 = none
  std::vector<double> sinks{}, alibi_slopes{};  // (H)
  Tensor mask{};                                // boolean, true = takes part, (1 or H, n, n)
  Tensor bias{};                                // f32, (1 or H, n, n)
};

struct Recording {
  std::string model{}, family{};  // what they are called; may be empty
  std::string text{};             // may be empty: then each token is a word
  std::vector<RecordedToken> tokens{};
  std::vector<RecordedLayer> layers{};  // with the same number of heads
};

// Files of recordings are safetensors with metadata (docs/lens.md), called something.attn.
inline constexpr std::string_view kRecordingExtension = ".attn";

// Throws std::invalid_argument for parts that do not fit together, FileError where the disk refuses.
void save_recording(const std::filesystem::path& file, const Recording& recording);

// Throws FileError, also where parts do not fit together.
Recording load_recording(const std::filesystem::path& file);

}  // namespace attend
