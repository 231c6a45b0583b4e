// /v1/embeddings and /v1/models.
#include <nlohmann/json.hpp>
#include <utility>

#include "io/base64.h"
#include "save/json_array.h"
#include "serve/routes.h"
#include "serve/tokens_of.h"
#include "serve/vectors.h"

namespace attend::serve {
namespace {

static_assert(std::endian::native == std::endian::little, "clients read little-endian numbers");

nlohmann::ordered_json entry_of(const ServedModel& model) {
  return {{"id", model.name}, {"object", "model"}, {"created", model.loaded}, {"owned_by", "attend"}};
}

std::string json_dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Written as text: as nodes of a tree, the numbers of 2,048 vectors would take a hundred megabytes.
std::string embeddings_json(const Tensor& vectors, bool base64, const std::string& model,
                            std::int64_t tokens) {
  std::string text = R"({"object":"list","data":[)";
  const std::int64_t size = vectors.size(1);
  for (std::int64_t i = 0; i < vectors.size(0); ++i) {
    text.append(i > 0 ? "," : "").append(R"({"object":"embedding","index":)").append(std::to_string(i));
    text += R"(,"embedding":)";
    if (base64) {
      const char* const bytes = reinterpret_cast<const char*>(vectors.values<float>().data() + i * size);
      text += '"';
      io::append_base64(text, {bytes, static_cast<std::size_t>(size) * sizeof(float)});
      text += '"';
    } else {
      save::append_json_array(text, vectors.view().select(0, i));
    }
    text += '}';
  }
  const std::string count = std::to_string(tokens);
  text.append(R"(],"model":)").append(json_dump(model)).append(R"(,"usage":{"prompt_tokens":)").append(count);
  return text.append(R"(,"total_tokens":)").append(count).append("}}");
}

}  // namespace

void answer_embeddings(Context& context, const SharedCall& call) {
  const EmbeddingsBody body = parse_embeddings(call->request().body, kMostOpenAiInputs);
  const ServedModel& served = context.models.find(body.model);
  require_dimensions(*served.model, body.dimensions);
  const auto work = std::make_shared<Work>();
  work->model = served.model;
  for (const Input& input : body.inputs) work->texts.push_back(tokens_of(*served.model, input, body.reading));
  const std::int64_t tokens = work->tokens();
  call->count(static_cast<std::int64_t>(work->texts.size()), tokens);
  const bool normalize = body.dimensions.has_value() || served.model->files().normalize;
  context.compute(
      call, work,
      [normalize, tokens, base64 = body.base64, dimensions = body.dimensions,
       name = served.name](const Work& done) -> http::Response {
        return {.body = embeddings_json(text_vectors(done, normalize, dimensions), base64, name, tokens)};
      });
}

http::Response model_list(const Context& context) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ServedModel& model : context.models.all()) list.push_back(entry_of(model));
  return {.body = json_dump({{"object", "list"}, {"data", std::move(list)}})};
}

http::Response model_entry(const Context& context, const std::string& name) {
  return {.body = json_dump(entry_of(context.models.find(name)))};
}

}  // namespace attend::serve
