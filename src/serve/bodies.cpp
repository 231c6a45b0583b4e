#include "serve/bodies.h"

#include <limits>
#include <utility>

#include "serve/body_fields.h"

namespace attend::serve {
namespace {

constexpr std::int64_t kMostTopKeys = 1000;

// What TEI's routes share.
InputOptions input_options_of(const BodyFields& fields) {
  return {.truncate = fields.flag("truncate", true),
          .cut_left = fields.word("truncation_direction", {"right", "left"}) == 1,
          .prompt_name = fields.text("prompt_name")};
}

// One list of one or two texts.
PredictBody::Text text_or_pair_of(const io::JsonValue& value) {
  std::vector<std::string> texts = texts_of(value, "inputs", std::numeric_limits<std::size_t>::max());
  if (texts.size() > 2)
    throw Refused(Fault::invalid,
                  joined("\"inputs\" has a list of ", texts.size(),
                         " texts, expected one or two: several are a list of such lists"),
                  "inputs");
  PredictBody::Text text{.first = std::move(texts[0])};
  if (texts.size() == 2) text.second = std::move(texts[1]);
  return text;
}

// Texts, or objects with a "text".
std::vector<std::string> documents_of(const io::JsonValue& value, std::size_t most) {
  constexpr std::string_view kName = "documents";
  if (!value.is_array()) throw Refused(Fault::invalid, "\"documents\" is not a list", std::string(kName));
  require_count(value.elements().size(), most, kName);
  std::vector<std::string> texts;
  for (const io::JsonValue element : value.elements())
    texts.push_back(read_value(kName, [&] {
      return std::string(element.is_object() ? BodyFields(element).required("text").string()
                                             : element.string());
    }));
  return texts;
}

}  // namespace

EmbeddingsBody parse_embeddings(std::string_view body, std::size_t most_inputs) {
  const BodyFields fields(body);
  EmbeddingsBody read{.model = fields.text("model"),
                      .inputs = inputs_of(fields.required("input"), "input", most_inputs),
                      .base64 = fields.word("encoding_format", {"float", "base64"}) == 1,
                      .dimensions = fields.integer("dimensions", 1, kLargestInteger)};
  read.reading.truncate = fields.flag("truncate", false);
  for (const Input& input : read.inputs) {
    const bool empty = std::visit([](const auto& given) { return given.empty(); }, input);
    if (empty) throw Refused(Fault::empty, "\"input\" has an empty text", "input");
  }
  return read;
}

EmbedBody parse_embed(std::string_view body, std::size_t most_inputs) {
  const BodyFields fields(body);
  return {.model = fields.text("model"),
          .inputs = inputs_of(fields.required("inputs"), "inputs", most_inputs),
          .reading = input_options_of(fields),
          .normalize = fields.flag("normalize", true),
          .dimensions = fields.integer("dimensions", 1, kLargestInteger)};
}

EmbedBody parse_similarity(std::string_view body, std::size_t most_inputs) {
  const BodyFields fields(body);
  const io::JsonValue inputs = fields.required("inputs");
  if (!inputs.is_object())
    throw Refused(Fault::invalid, "\"inputs\" has to be an object with source_sentence and sentences",
                  "inputs");
  const BodyFields inside(inputs);
  EmbedBody read{.model = fields.text("model")};
  read.inputs.emplace_back(read_value(
      "source_sentence", [&] { return std::string(inside.required("source_sentence").string()); }));
  for (std::string& text : texts_of(inside.required("sentences"), "sentences", most_inputs))
    read.inputs.emplace_back(std::move(text));
  const auto parameters = fields.find("parameters");
  if (parameters && !parameters->is_object())
    throw Refused(Fault::invalid, "\"parameters\" is not an object", "parameters");
  read.reading = input_options_of(parameters ? BodyFields(*parameters) : BodyFields(inputs));
  return read;
}

PredictBody parse_predict(std::string_view body, std::size_t most_inputs) {
  const BodyFields fields(body);
  PredictBody read{.model = fields.text("model"),
                   .reading = input_options_of(fields),
                   .raw_scores = fields.flag("raw_scores", false)};
  const io::JsonValue inputs = fields.required("inputs");
  const bool list = inputs.is_array() && inputs.elements().size() > 0 && inputs.elements()[0].is_array();
  read.single = !list;
  if (!list) {
    read.texts.push_back(text_or_pair_of(inputs));
    return read;
  }
  require_count(inputs.elements().size(), most_inputs, "inputs");
  for (const io::JsonValue element : inputs.elements()) {
    if (!element.is_array())
      throw Refused(Fault::invalid, "\"inputs\" holds lists of texts and something else", "inputs");
    read.texts.push_back(text_or_pair_of(element));
  }
  return read;
}

RerankBody parse_rerank(std::string_view body, std::size_t most_texts, std::size_t most_documents) {
  const BodyFields fields(body);
  RerankBody read{
      .model = fields.text("model"),
      .query = read_value("query", [&] { return std::string(fields.required("query").string()); }),
      .reading = input_options_of(fields),
      .raw_scores = fields.flag("raw_scores", false)};
  read.documents = fields.find("documents").has_value();
  if (read.documents) {
    read.texts = documents_of(*fields.find("documents"), most_documents);
    read.return_text = fields.flag("return_documents", false);
    read.top_n = fields.integer("top_n", 1, kLargestInteger);
  } else {
    read.texts = texts_of(fields.required("texts"), "texts", most_texts);
    read.return_text = fields.flag("return_text", false);
  }
  return read;
}

TokenizeBody parse_tokenize(std::string_view body, std::size_t most_inputs) {
  const BodyFields fields(body);
  return {.model = fields.text("model"),
          .texts = texts_of(fields.required("inputs"), "inputs", most_inputs),
          .add_special_tokens = fields.flag("add_special_tokens", true),
          .prompt_name = fields.text("prompt_name")};
}

DecodeBody parse_decode(std::string_view body, std::size_t most_inputs) {
  const BodyFields fields(body);
  DecodeBody read{.model = fields.text("model"),
                  .skip_special_tokens = fields.flag("skip_special_tokens", true)};
  for (Input& input : inputs_of(fields.required("ids"), "ids", most_inputs)) {
    if (std::holds_alternative<std::string>(input))
      throw Refused(Fault::invalid, "\"ids\" holds a text, expected token ids", "ids");
    read.ids.push_back(std::move(std::get<std::vector<std::int32_t>>(input)));
  }
  return read;
}

ExplainBody parse_explain(std::string_view body) {
  const BodyFields fields(body);
  ExplainBody read{.model = fields.text("model"),
                   .text = std::move(texts_of(fields.required("inputs"), "inputs", 1).front()),
                   .reading = {.truncate = fields.flag("truncate", true)},
                   .heads = {.layer = fields.integer("layer", 1, kLargestInteger),
                             .head = fields.integer("head", 1, kLargestInteger)},
                   .words = fields.word("units", {"tokens", "words"}) == 1,
                   .special = fields.flag("special", true),
                   .map = fields.flag("map", false),
                   .top_k = fields.integer("top_k", 0, kMostTopKeys).value_or(5),
                   .npz = fields.word("format", {"json", "npz"}) == 1};
  constexpr LensMethod kMethods[] = {LensMethod::raw, LensMethod::norm, LensMethod::rollout};
  read.method = kMethods[fields.word("method", {"raw", "norm", "rollout"})];
  if (read.heads.head && !read.heads.layer)
    throw Refused(Fault::invalid, "\"head\" is one of a layer, and there is no \"layer\"", "head");
  return read;
}

}  // namespace attend::serve
