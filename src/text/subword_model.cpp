#include "text/subword_model.h"

namespace attend::text {
namespace {

// Files of early versions name no type.
std::string_view type_of(const io::JsonValue& model) {
  if (model.find("type")) return model.type();
  if (model.find("merges")) return "BPE";
  if (model.at("vocab").is_array()) return "Unigram";
  if (model.find("continuing_subword_prefix")) return "WordPiece";
  return model.type();
}

}  // namespace

std::unique_ptr<const SubwordModel> read_model(const io::JsonValue& model) {
  const std::string_view type = type_of(model);
  if (type == "WordPiece") return read_word_piece(model);
  if (type == "BPE") return read_bpe(model);
  if (type == "Unigram") return read_unigram(model);
  model.fail("the model ", io::quoted(type), " is not supported");
}

}  // namespace attend::text
