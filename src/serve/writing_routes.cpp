// /v1/completions and /v1/chat/completions: whole, or token by token as server-sent events.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "serve/log_probabilities.h"
#include "serve/routes.h"
#include "serve/writing_bodies.h"

namespace attend::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// One request: what its answers are called, and how each is told. But for its beginning and its end it is the
// writer's thread's.
class Writing {
 public:
  Writing(SharedCall call, const ServedModel& served, WritingBody body, bool chat)
      : call_(std::move(call)),
        model_(served.model),
        name_(served.name),
        body_(std::move(body)),
        chat_(chat),
        choices_(Json::array()) {
    char number[17];
    std::snprintf(number, sizeof number, "%016llx", static_cast<unsigned long long>(random_number()));
    id_ = (chat ? "chatcmpl-" : "cmpl-") + std::string(number);
  }

  // What is to be written: of each prompt as many texts as there are choices. Choice i has the seed plus i.
  std::vector<WantedText> texts(Writer& writer) {
    const std::uint64_t seed = body_.seed.value_or(random_number());
    std::vector<std::vector<std::int32_t>> prompts;
    if (chat_) {
      prompts.push_back(writer.prompt_of(body_.messages));
    } else {
      for (const Input& prompt : body_.prompts) prompts.push_back(ids_of_prompt(writer, prompt));
    }
    std::vector<WantedText> texts;
    for (const std::vector<std::int32_t>& prompt : prompts) {
      require_fits(prompt);
      prompt_tokens_ += std::ssize(prompt);
      for (std::int64_t i = 0; i < body_.choices; ++i) {
        WantedText text{.prompt = prompt, .options = body_.options};
        text.options.sampling.seed = seed + texts.size();
        text.options.on_token = [this, index = texts.size()](const GeneratedToken& token) {
          return take(index, token);
        };
        texts.push_back(std::move(text));
      }
    }
    told_.reserve(texts.size());
    for (const WantedText& text : texts)
      told_.push_back({.probabilities = {model_->tokenizer(), text.prompt.back()}});
    choices_ = Json(texts.size(), nullptr);
    call_->count(std::ssize(prompts), prompt_tokens_);
    return texts;
  }

  void begin(std::size_t index) {
    if (!body_.stream) return;
    if (!begun_) call_->begin();
    begun_ = true;
    if (!chat_) return;
    call_->send(dumped(chunk({{{"index", index},
                               {"delta", {{"role", "assistant"}, {"content", ""}}},
                               {"finish_reason", nullptr}}})));
  }

  void end(std::size_t index, const Generated& written) {
    completion_tokens_ += std::ssize(written.tokens);
    if (static_cast<std::int64_t>(index) % body_.choices == 0) cached_tokens_ += written.reused;
    const bool cut = written.reason == StopReason::length || written.reason == StopReason::context;
    const char* const reason = cut ? "length" : "stop";
    if (body_.stream) {
      const std::size_t told = told_[index].bytes;
      if (told < written.text.size() || !told_[index].tokens.empty())
        tell(index, written.text.substr(std::min(told, written.text.size())), nullptr);
      return tell(index, "", reason);
    }
    Json choice = {{"index", index}};
    if (chat_) {
      choice["message"] = {{"role", "assistant"}, {"content", written.text}};
    } else {
      choice["text"] = written.text;
    }
    choice["logprobs"] = probabilities(index, written.tokens);
    choice["finish_reason"] = reason;
    choices_[index] = std::move(choice);
  }

  // When all is written.
  void finish() {
    call_->count_written(completion_tokens_);
    const Json usage = {{"prompt_tokens", prompt_tokens_},
                        {"completion_tokens", completion_tokens_},
                        {"total_tokens", prompt_tokens_ + completion_tokens_},
                        {"prompt_tokens_details", {{"cached_tokens", cached_tokens_}}}};
    if (!body_.stream) {
      Json json = head(chat_ ? "chat.completion" : "text_completion");
      json["choices"] = std::move(choices_);
      json["usage"] = usage;
      return call_->answer({.body = dumped(json)});
    }
    if (body_.include_usage) {
      Json json = chunk(Json::array());
      json["usage"] = usage;
      call_->send(dumped(json));
    }
    call_->send("[DONE]");
    call_->end();
  }

 private:
  Json head(const char* object) const {
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", name_}};
  }
  Json chunk(Json choices) const {
    Json json = head(chat_ ? "chat.completion.chunk" : "text_completion");
    json["choices"] = std::move(choices);
    return json;
  }

  std::vector<std::int32_t> ids_of_prompt(const Writer& writer, const Input& prompt) const {
    if (const auto* const text = std::get_if<std::string>(&prompt)) {
      std::vector<std::int32_t> ids = writer.prompt_of(*text);
      if (ids.empty()) throw Refused(Fault::empty, "the prompt has no tokens", "prompt");
      return ids;
    }
    const std::int64_t vocabulary = model_->transformer().description().vocabulary_size;
    const auto& ids = std::get<std::vector<std::int32_t>>(prompt);
    for (const std::int32_t id : ids)
      if (id >= vocabulary)
        throw Refused(Fault::invalid, joined("token id ", id, " is not one of the model's ", vocabulary),
                      "prompt");
    return ids;
  }

  // A prompt that is cut would be another prompt.
  void require_fits(const std::vector<std::int32_t>& prompt) const {
    const std::int64_t most = model_->transformer().description().max_tokens();
    if (std::ssize(prompt) >= most)
      refuse_with(Fault::too_long, "a prompt has ", prompt.size(), " tokens, and prompt and answer may have ",
                  most);
  }

  bool take(std::size_t index, const GeneratedToken& token) {
    Told& told = told_[index];
    if (body_.stream && body_.options.log_probabilities) told.tokens.push_back(token);
    if (body_.stream && !token.text.empty()) tell(index, token.text, nullptr);
    told.bytes += token.text.size();
    return true;
  }

  Json probabilities(std::size_t index, std::span<const GeneratedToken> tokens) {
    if (!body_.options.log_probabilities) return nullptr;
    LogProbabilities& form = told_[index].probabilities;
    return chat_ ? form.chat(tokens) : form.completion(tokens);
  }

  // A piece of the text, or why it ended.
  void tell(std::size_t index, const std::string& text, const char* reason) {
    Json choice = {{"index", index}};
    if (chat_) {
      choice["delta"] = reason == nullptr ? Json({{"content", text}}) : Json::object();
    } else {
      choice["text"] = text;
    }
    choice["logprobs"] = reason == nullptr ? probabilities(index, told_[index].tokens) : Json();
    told_[index].tokens.clear();
    choice["finish_reason"] = reason == nullptr ? Json() : Json(reason);
    call_->send(dumped(chunk(Json::array({std::move(choice)}))));
  }

  const SharedCall call_;
  const std::shared_ptr<const TextModel> model_;
  const std::string name_;
  const WritingBody body_;
  const bool chat_;
  std::string id_;
  const std::time_t created_ = std::time(nullptr);
  bool begun_ = false;
  std::int64_t prompt_tokens_ = 0, cached_tokens_ = 0, completion_tokens_ = 0;
  // Of each text: how much of it was sent, and the tokens whose log-probabilities were not yet.
  struct Told {
    LogProbabilities probabilities;
    std::size_t bytes = 0;
    std::vector<GeneratedToken> tokens{};
  };
  std::vector<Told> told_{};
  Json choices_;
};

void answer_writing(Context& context, const SharedCall& call, WritingBody body, bool chat) {
  const ServedModel& served = context.models.find(body.model);
  Writer& writer = context.writers.find(served);
  const auto writing = std::make_shared<Writing>(call, served, std::move(body), chat);
  const auto work = std::make_shared<WritingWork>();
  work->texts = writing->texts(writer);
  work->ends_without_room = chat;
  work->wanted = [call] { return !call->gone(); };
  work->in_time = [call] { call->require_in_time(); };
  work->begun_with = [writing](std::size_t text) { writing->begin(text); };
  work->written = [writing](std::size_t text, const Generated& written) { writing->end(text, written); };
  work->done = [&context, call, writing, times = std::weak_ptr<WritingWork>(work)] {
    context.workers.add([call, writing, work = times.lock()] {
      answering(*call, [&] {
        call->computed(*work);
        if (work->failure) std::rethrow_exception(work->failure);
        writing->finish();
      });
    });
  };
  writer.add(work);
}

}  // namespace

void answer_completion(Context& context, const SharedCall& call) {
  answer_writing(context, call, parse_completion(call->request().body), false);
}

void answer_chat(Context& context, const SharedCall& call) {
  answer_writing(context, call, parse_chat(call->request().body), true);
}

}  // namespace attend::serve
