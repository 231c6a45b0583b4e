// POST /explain: what attention did with a text, in any layer and head, and the text's vector.
#include <attend/interrupt.h>
#include <attend/lens.h>
#include <attend/pooling.h>

#include <utility>

#include "base/counting.h"
#include "serve/explained.h"
#include "serve/routes.h"
#include "serve/tokens_of.h"
#include "serve/vectors.h"

namespace attend::serve {
namespace {

// Nobody waits any more: ends the work, and is never an answer.
struct GoneAway : std::runtime_error {
  GoneAway() : std::runtime_error("the client has gone away") {}
};

void require_heads(const TextModel& model, const HeadChoice& heads) {
  const ModelDescription& description = model.transformer().description();
  const auto require = [](const char* thing, std::optional<std::int64_t> value, std::int64_t count) {
    if (value && !is_number(*value, count))
      throw Refused(Fault::invalid, out_of_count(thing, thing, *value, count), thing);
  };
  require("layer", heads.layer, description.layer_count());
  require("head", heads.head, description.heads());
}

// As embed() makes it, from the same pass where nothing comes after pooling.
Tensor vector_of(const Reading& reading, const Encoding& tokens) {
  const TextModel& model = reading.model();
  const ModelFiles& files = model.files();
  if (!files.dense.empty()) return model.embed(std::span(&tokens, 1));
  Tensor vector(DType::f32, {1, model.embedding_size()});
  pool(reading.hidden(reading.layers()), std::vector<std::int64_t>{0, reading.size()},
       files.pooling.empty() ? std::vector{Pooling::mean} : files.pooling, vector);
  if (files.normalize) normalize_rows(vector, vector);
  return vector;
}

}  // namespace

void answer_explain(Context& context, const SharedCall& call) {
  const ExplainBody body = parse_explain(call->request().body);
  const ServedModel& served = context.models.find(body.model);
  require_heads(*served.model, body.heads);
  if (served.model->transformer().description().has_source())
    refuse_with(Fault::wrong_kind, "a model with an encoder and a decoder is not explained here");
  const Encoding tokens = tokens_of(*served.model, body.text, body.reading);
  const auto size = static_cast<std::int64_t>(tokens.size());
  call->count(1, size);
  if (body.method == LensMethod::rollout && size > kMostRolloutTokens)
    refuse_with(Fault::too_long, "rollout is for texts of at most ", kMostRolloutTokens,
                " tokens, and this one has ", size);

  const auto work = std::make_shared<Work>();
  const auto answer = std::make_shared<std::string>();
  work->model = served.model;
  work->task = [call, body, answer, tokens, name = served.name, model = served.model] {
    const Interruptible until_gone([&] {
      if (call->gone()) throw GoneAway();
      call->require_in_time();
    });
    const Reading reading(*model, prompt_of(*model, {}) + body.text);
    const Tensor vector = vector_of(reading, tokens);
    require_finite(vector, 0);
    const Explained explained = explained_by(reading, body);
    *answer = body.npz ? explained_npz(reading, vector, explained)
                       : explained_json(name, body, tokens.dropped, vector, explained);
  };
  context.compute(call, work, [answer, npz = body.npz](const Work&) -> http::Response {
    return {.type = npz ? "application/x-npz" : "application/json", .body = std::move(*answer)};
  });
}

}  // namespace attend::serve
