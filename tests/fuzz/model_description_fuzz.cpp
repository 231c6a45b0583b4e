// Any bytes as config.json: sizes that make sense together, or FileError.
#include "fuzz/file_text.h"
#include "model/families/family.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  parse_or_refuse([&] {
    const ModelDescription model = model::describe_model(file_text(data, size));
    check(model);
    require(!model.layers.empty() && model.token_types >= 0);
    require(model.encoder_layers == 0 || model.layer_count() == 3 * model.encoder_layers);
    require(!model.start_token || (*model.start_token >= 0 && *model.start_token < model.vocabulary_size));
    require(!model.pad_token || (*model.pad_token >= 0 && *model.pad_token < model.vocabulary_size));
    // What was described can be named and written down again.
    require(model::family_of(model).names(model).layers.size() == model.layers.size());
    if (!model.uses(PositionKind::relative))
      require(!model::storing_family(model).config_json(model).empty());
  });
  return 0;
}
