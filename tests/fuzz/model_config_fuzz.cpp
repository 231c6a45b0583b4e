// Any bytes as config.json: sizes that make sense together, or FileError.
#include "checkpoint/model_config.h"

#include "fuzz/file_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  parse_or_refuse([&] {
    const ModelConfig config = checkpoint::parse_model_config(file_text(data, size));
    require(config.hidden_size > 0 && config.layers > 0 && config.heads > 0 && config.intermediate_size > 0);
    require(config.hidden_size % config.heads == 0);
    require(config.vocabulary_size > 0 && config.max_tokens() > 0 && config.token_types >= 0);
    require(config.layer_norm_eps >= 0 && config.layer_norm_eps <= 1);
    require(config.encoder_layers == 0 || config.layers == 3 * config.encoder_layers);
    require(!config.start_token ||
            (*config.start_token >= 0 && *config.start_token < config.vocabulary_size));
    require(!config.pad_token || (*config.pad_token >= 0 && *config.pad_token < config.vocabulary_size));
  });
  return 0;
}
