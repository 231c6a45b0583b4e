// The answers that need a model, one function for each route. They run on a worker's thread and throw
// Refused.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "serve/context.h"

namespace attend::serve {

using SharedCall = std::shared_ptr<Call>;
using Answer = void (*)(Context& context, const SharedCall& call);

// OpenAI's
void answer_embeddings(Context& context, const SharedCall& call);
void answer_completion(Context& context, const SharedCall& call);
void answer_chat(Context& context, const SharedCall& call);
http::Response model_list(const Context& context);
http::Response model_entry(const Context& context, const std::string& name);

// Those of Text Embeddings Inference
void answer_main(Context& context, const SharedCall& call);  // what the model is for
void answer_embed(Context& context, const SharedCall& call);
void answer_embed_all(Context& context, const SharedCall& call);
void answer_similarity(Context& context, const SharedCall& call);
void answer_predict(Context& context, const SharedCall& call);
void answer_rerank(Context& context, const SharedCall& call);
void answer_tokenize(Context& context, const SharedCall& call);
void answer_decode(Context& context, const SharedCall& call);
void refuse_model_kind(Context& context, const SharedCall& call);  // for models that attend does not have
http::Response server_info(const Context& context);

inline http::Response json_answer(const nlohmann::ordered_json& json) {
  return {.body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

inline std::size_t most_inputs(const Context& context) {
  return static_cast<std::size_t>(context.options.max_client_batch_size);
}

// attend's own
void answer_explain(Context& context, const SharedCall& call);

}  // namespace attend::serve
