// /v1/completions and /v1/chat/completions: whole, or token by token as server-sent events.
#include <attend/interrupt.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

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

// One request: what its answers are called, and how each is told.
class Writing {
 public:
  Writing(const SharedCall& call, const ServedModel& served, WritingBody body, bool chat)
      : call_(call), model_(served.model), name_(served.name), body_(std::move(body)), chat_(chat) {
    char number[17];
    std::snprintf(number, sizeof number, "%016llx", static_cast<unsigned long long>(random_number()));
    id_ = (chat ? "chatcmpl-" : "cmpl-") + std::string(number);
  }

  // On the writer's thread.
  void run(Generator& generator) {
    const Interruptible until_gone([this] {
      if (call_->gone()) throw Refused(Fault::stopping, "the client has gone away");
    });
    require_prompts_fit(generator);
    const std::uint64_t seed = body_.seed.value_or(random_number());
    const std::size_t prompts = chat_ ? 1 : body_.prompts.size();
    std::int64_t prompt_tokens = 0;
    for (std::size_t prompt = 0; prompt < prompts; ++prompt) {
      for (std::int64_t i = 0; i < body_.choices && !call_->gone(); ++i) {
        const auto index = static_cast<std::int64_t>(prompt) * body_.choices + i;
        body_.options.sampling.seed = seed + static_cast<std::uint64_t>(index);
        const Generated written = write(generator, prompt, index);
        if (i == 0) prompt_tokens += written.prompt_tokens;
        completion_tokens_ += static_cast<std::int64_t>(written.tokens.size());
      }
    }
    usage_ = {{"prompt_tokens", prompt_tokens},
              {"completion_tokens", completion_tokens_},
              {"total_tokens", prompt_tokens + completion_tokens_}};
    call_->count(static_cast<std::int64_t>(prompts), prompt_tokens + completion_tokens_);
  }

  // When all is written.
  void finish() {
    if (!body_.stream) {
      Json json = head(chat_ ? "chat.completion" : "text_completion");
      json["choices"] = std::move(choices_);
      json["usage"] = std::move(usage_);
      return call_->answer({.body = dumped(json)});
    }
    if (body_.include_usage) {
      Json json = chunk(Json::array());
      json["usage"] = std::move(usage_);
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

  // A prompt that is cut would be another prompt.
  void require_prompts_fit(Generator& generator) const {
    const std::int64_t most = model_->transformer().description().max_tokens();
    const std::int64_t vocabulary = model_->transformer().description().vocabulary_size;
    const auto require = [&](std::size_t count) {
      if (static_cast<std::int64_t>(count) >= most)
        refuse_with(Fault::too_long, "a prompt has ", count, " tokens, and prompt and answer may have ",
                    most);
    };
    if (chat_) return require(generator.chat_prompt(body_.messages).size());
    for (const Input& prompt : body_.prompts) {
      if (const auto* const text = std::get_if<std::string>(&prompt)) {
        require(model_->tokenizer().encode(*text, {.truncate = false}).size());
        continue;
      }
      const auto& ids = std::get<std::vector<std::int32_t>>(prompt);
      for (const std::int32_t id : ids)
        if (id >= vocabulary)
          throw Refused(Fault::invalid, joined("token id ", id, " is not one of the model's ", vocabulary),
                        "prompt");
      require(ids.size());
    }
  }

  Generated write(Generator& generator, std::size_t prompt, std::int64_t index) {
    std::size_t told = 0;  // bytes of the text
    GenerateOptions options = body_.options;
    options.on_token = [&](const GeneratedToken& token) {
      if (body_.stream && !token.text.empty()) tell(index, token.text, nullptr);
      told += token.text.size();
      return !call_->gone();
    };
    if (body_.stream && !begun_) {
      call_->begin();
      begun_ = true;
    }
    if (body_.stream && chat_) {
      call_->send(dumped(chunk({{{"index", index},
                                 {"delta", {{"role", "assistant"}, {"content", ""}}},
                                 {"finish_reason", nullptr}}})));
    }
    Generated written = generate(generator, prompt, options);
    const bool cut = written.reason == StopReason::length || written.reason == StopReason::context;
    const char* const reason = cut ? "length" : "stop";
    if (body_.stream) {
      if (told < written.text.size()) tell(index, written.text.substr(told), nullptr);
      tell(index, "", reason);
      return written;
    }
    Json choice = {{"index", index}};
    if (chat_) {
      choice["message"] = {{"role", "assistant"}, {"content", written.text}};
    } else {
      choice["text"] = written.text;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = reason;
    choices_.push_back(std::move(choice));
    return written;
  }

  Generated generate(Generator& generator, std::size_t prompt, const GenerateOptions& options) {
    if (chat_) return generator.chat(body_.messages, options);
    const Input& input = body_.prompts[prompt];
    if (const auto* const text = std::get_if<std::string>(&input)) return generator.generate(*text, options);
    return generator.generate(std::get<std::vector<std::int32_t>>(input), options);
  }

  // A piece of the text, or why it ended.
  void tell(std::int64_t index, const std::string& text, const char* reason) const {
    Json choice = {{"index", index}};
    if (chat_) {
      choice["delta"] = reason == nullptr ? Json({{"content", text}}) : Json::object();
    } else {
      choice["text"] = text;
      choice["logprobs"] = nullptr;
    }
    choice["finish_reason"] = reason == nullptr ? Json() : Json(reason);
    call_->send(dumped(chunk(Json::array({std::move(choice)}))));
  }

  const SharedCall call_;
  const std::shared_ptr<const TextModel> model_;
  const std::string name_;
  WritingBody body_;
  const bool chat_;
  std::string id_;
  const std::time_t created_ = std::time(nullptr);
  bool begun_ = false;
  std::int64_t completion_tokens_ = 0;
  Json choices_ = Json::array(), usage_;
};

void answer_writing(Context& context, const SharedCall& call, WritingBody body, bool chat) {
  const ServedModel& served = context.models.find(body.model);
  Writers::Writer& writer = context.writers.find(served);
  const auto writing = std::make_shared<Writing>(call, served, std::move(body), chat);
  const auto work = std::make_shared<Work>();
  work->model = served.model;
  work->task = [writing, &writer] { writing->run(writer.generator); };
  work->wanted = [call] { return !call->gone(); };
  work->done = [call, writing](Work& finished) {
    answering(*call, [&] {
      call->computed(finished);
      if (finished.failure) std::rethrow_exception(finished.failure);
      writing->finish();
    });
  };
  if (!writer.queue.add(work)) throw Refused(Fault::overloaded, "too many requests are waiting");
}

}  // namespace

void answer_completion(Context& context, const SharedCall& call) {
  answer_writing(context, call, parse_completion(call->request().body), false);
}

void answer_chat(Context& context, const SharedCall& call) {
  answer_writing(context, call, parse_chat(call->request().body), true);
}

}  // namespace attend::serve
