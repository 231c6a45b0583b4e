// Any bytes as the body of each route of `attend serve`. Whatever is read makes sense; whatever is not is
// refused in one sentence that may be sent and logged.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "serve/bodies.h"
#include "serve/refused.h"
#include "serve/writing_bodies.h"

namespace {

using namespace attend;
using namespace attend::serve;

constexpr std::size_t kMostInputs = 8, kMostDocuments = 12;

template <class Action>
void parse_or_refuse(const Action& action) {
  try {
    action();
  } catch (const Refused& refused) {
    require(refused.fault <= Fault::too_many);
    require_sentence(refused.what(), 600);
    for (const Family family : {Family::openai, Family::tei})
      require(refusal(family, refused).status / 100 == 4);
  }
}

void require_inputs(const std::vector<Input>& inputs, std::size_t most) {
  require(!inputs.empty() && inputs.size() <= most);
  for (const Input& input : inputs)
    if (const auto* const ids = std::get_if<std::vector<std::int32_t>>(&input))
      require(std::ranges::all_of(*ids, [](std::int32_t id) { return id >= 0; }));
}

void require_probabilities(const GenerateOptions& options, std::int64_t most) {
  require(options.most_probable >= 0 && options.most_probable <= most);
  require(options.most_probable == 0 || options.log_probabilities);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  parse_or_refuse([&] { require_inputs(parse_embeddings(body, kMostInputs).inputs, kMostInputs); });
  parse_or_refuse([&] { require_inputs(parse_embed(body, kMostInputs).inputs, kMostInputs); });
  parse_or_refuse([&] { require_inputs(parse_similarity(body, kMostInputs).inputs, kMostInputs + 1); });
  parse_or_refuse([&] {
    const PredictBody predict = parse_predict(body, kMostInputs);
    require(!predict.texts.empty() && predict.texts.size() <= (predict.single ? 1 : kMostInputs));
  });
  parse_or_refuse([&] {
    const RerankBody rerank = parse_rerank(body, kMostInputs, kMostDocuments);
    require(!rerank.texts.empty() &&
            rerank.texts.size() <= (rerank.documents ? kMostDocuments : kMostInputs));
    require(!rerank.top_n || (rerank.documents && *rerank.top_n >= 1));
  });
  parse_or_refuse([&] { require(!parse_tokenize(body, kMostInputs).texts.empty()); });
  parse_or_refuse([&] { require(!parse_decode(body, kMostInputs).ids.empty()); });
  parse_or_refuse([&] {
    const ExplainBody explain = parse_explain(body);
    require(explain.top_k >= 0 && explain.top_k <= 1000 && (!explain.heads.head || explain.heads.layer));
  });
  parse_or_refuse([&] {
    const WritingBody completion = parse_completion(body);
    require_inputs(completion.prompts, kMostPrompts);
    require_probabilities(completion.options, kMostCompletionLogprobs);
  });
  parse_or_refuse([&] {
    const WritingBody chat = parse_chat(body);
    require(!chat.messages.empty() && chat.messages.size() <= kMostMessages && chat.choices >= 1);
    require_probabilities(chat.options, kMostChatLogprobs);
  });
  return 0;
}
