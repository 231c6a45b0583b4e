// The routes of Text Embeddings Inference.
#include <attend/threads.h>
#include <attend/version.h>

#include <utility>

#include "io/json_document.h"
#include "save/json_array.h"
#include "serve/body_fields.h"
#include "serve/routes.h"
#include "serve/tokens_of.h"
#include "serve/vectors.h"

namespace attend::serve {
namespace {

using Json = nlohmann::ordered_json;

std::shared_ptr<Work> work_of(const Context& context, Call& call, const EmbedBody& body) {
  const auto work = std::make_shared<Work>();
  work->model = context.models.find(body.model).model;
  require_dimensions(*work->model, body.dimensions);
  for (const Input& input : body.inputs) work->texts.push_back(tokens_of(*work->model, input, body.reading));
  call.count(static_cast<std::int64_t>(work->texts.size()), work->tokens());
  return work;
}

// Of the first vector with each of the others, which all have length 1.
std::vector<double> cosines_with_first(const Tensor& vectors) {
  const std::int64_t size = vectors.size(1);
  const float* const values = vectors.values<float>().data();
  std::vector<double> cosines;
  for (std::int64_t i = 1; i < vectors.size(0); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < size; ++j)
      sum += static_cast<double>(values[j]) * static_cast<double>(values[i * size + j]);
    cosines.push_back(sum);
  }
  return cosines;
}

const char* dtype_name(Precision precision) {
  return precision == Precision::f32 ? "float32" : precision == Precision::bf16 ? "bfloat16" : "int8";
}

// By what the model is for.
Json model_type_of(const TextModel& model) {
  const auto& head = model.transformer().description().sequence_head;
  if (!head) {
    const std::vector<Pooling>& poolings = model.files().pooling;
    const Pooling pooling = poolings.empty() ? Pooling::mean : poolings.front();
    return Json::object({{"embedding", Json::object({{"pooling", std::string(name_of(pooling))}})}});
  }
  Json id2label = Json::object(), label2id = Json::object();
  for (std::size_t id = 0; id < head->labels.size(); ++id) {
    id2label[std::to_string(id)] = head->labels[id];
    label2id[head->labels[id]] = id;
  }
  const Json labels = {{"id2label", std::move(id2label)}, {"label2id", std::move(label2id)}};
  return Json::object({{head->labels.size() == 1 ? "reranker" : "classifier", labels}});
}

}  // namespace

void answer_main(Context& context, const SharedCall& call) {
  std::optional<io::JsonDocument> body;
  try {
    body.emplace("the body", call->request().body);
  } catch (const FileError&) {  // parse_embed() says it
    return answer_embed(context, call);
  }
  if (!body->root().is_object()) return answer_embed(context, call);
  const BodyFields fields(body->root());
  const ServedModel& served = context.models.find(fields.text("model"));
  if (const auto& head = served.model->transformer().description().sequence_head)
    return head->labels.size() == 1 ? answer_rerank(context, call) : answer_predict(context, call);
  // huggingface_hub sends both to the address that it is given.
  const auto inputs = fields.find("inputs");
  inputs && inputs->is_object() ? answer_similarity(context, call) : answer_embed(context, call);
}

void answer_embed(Context& context, const SharedCall& call) {
  const EmbedBody body = parse_embed(call->request().body, most_inputs(context));
  context.compute(
      call, work_of(context, *call, body),
      [normalize = body.normalize, dimensions = body.dimensions](const Work& done) -> http::Response {
        std::string text;
        save::append_json_array(text, text_vectors(done, normalize, dimensions));
        return {.body = std::move(text)};
      });
}

void answer_embed_all(Context& context, const SharedCall& call) {
  const EmbedBody body = parse_embed(call->request().body, most_inputs(context));
  const auto work = work_of(context, *call, body);
  work->result = Result::token_vectors;
  context.compute(call, work, [](const Work& done) -> http::Response {
    std::string text = "[";
    for (std::size_t i = 0; i < done.vectors.size(); ++i) {
      require_finite(done.vectors[i], i);
      if (i > 0) text += ',';
      save::append_json_array(text, done.vectors[i]);
    }
    return {.body = text + "]"};
  });
}

void answer_similarity(Context& context, const SharedCall& call) {
  const EmbedBody body = parse_similarity(call->request().body, most_inputs(context));
  context.compute(call, work_of(context, *call, body), [](const Work& done) -> http::Response {
    return json_answer(cosines_with_first(text_vectors(done, true, {})));
  });
}

void answer_tokenize(Context& context, const SharedCall& call) {
  const TokenizeBody body = parse_tokenize(call->request().body, most_inputs(context));
  const TextModel& model = *context.models.find(body.model).model;
  const std::string prompt = body.prompt_name ? prompt_of(model, body.prompt_name) : "";
  Json texts = Json::array();
  for (const std::string& text : body.texts) {
    const Encoding tokens =
        model.tokenizer().encode(prompt + text, {.add_special_tokens = body.add_special_tokens,
                                                 .truncate = false,
                                                 .lower_case = model.files().lower_case});
    Json list = Json::array();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool special = tokens.special[i] != 0;
      list.push_back({{"id", tokens.ids[i]},
                      {"text", std::string(model.tokenizer().token(tokens.ids[i]))},
                      {"special", special},
                      {"start", special ? Json() : Json(tokens.offsets[i].begin)},
                      {"stop", special ? Json() : Json(tokens.offsets[i].end)}});
    }
    texts.push_back(std::move(list));
  }
  call->answer(json_answer(texts));
}

void answer_decode(Context& context, const SharedCall& call) {
  const DecodeBody body = parse_decode(call->request().body, most_inputs(context));
  const Tokenizer& tokenizer = context.models.find(body.model).model->tokenizer();
  Json texts = Json::array();
  for (const std::vector<std::int32_t>& ids : body.ids)
    texts.push_back(tokenizer.decode(ids, body.skip_special_tokens));
  call->answer(json_answer(texts));
}

void refuse_model_kind(Context&, const SharedCall&) {
  refuse_with(Fault::wrong_kind, "attend has no models of sparse vectors");
}

http::Response server_info(const Context& context) {
  const ServedModel& served = context.models.all().front();
  const TextModel& model = *served.model;
  return json_answer({{"model_id", served.name},
                      {"model_sha", nullptr},
                      {"model_dtype", dtype_name(model.transformer().precision())},
                      {"served_model_name", served.name},
                      {"model_type", model_type_of(model)},
                      {"max_concurrent_requests", context.options.max_concurrent_requests},
                      {"max_input_length", model.max_tokens()},
                      {"max_batch_tokens", context.options.max_batch_tokens},
                      {"max_batch_requests", nullptr},
                      {"max_client_batch_size", context.options.max_client_batch_size},
                      {"auto_truncate", true},
                      {"tokenization_workers", threads()},
                      {"version", std::string(version())},
                      {"sha", nullptr},
                      {"docker_label", nullptr},
                      // TEI's end here; the other limits by the names of their options.
                      {"max_num_seqs", context.options.max_num_seqs},
                      {"max_batch_total_tokens", context.options.max_batch_total_tokens},
                      {"payload_limit", context.options.payload_limit},
                      {"max_connections", context.options.max_connections},
                      {"request_timeout", context.options.request_timeout.count()}});
}

}  // namespace attend::serve
