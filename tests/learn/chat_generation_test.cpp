// A folder with a chat template and a generation_config.json: what it says is what happens.
#include <attend/generation.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "learn/model_folder.h"
#include "learn/task.h"
#include "support/file_error.h"
#include "support/refuses.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

constexpr std::int32_t kTurn = 256, kTurnEnd = 257, kBegin = 258;

std::string marked_tokenizer() {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(byte_tokenizer(true));
  nlohmann::ordered_json& added = json["added_tokens"];
  const nlohmann::ordered_json one = added[0];
  added.clear();
  for (const auto& [id, content] : {std::pair(kTurn, "<|turn|>"), {kTurnEnd, "<|end|>"}, {kBegin, "<s>"}}) {
    added.push_back(one);
    added.back()["id"] = id;
    added.back()["content"] = content;
  }
  return json.dump();
}

class ChatGenerationTest : public testing::Test {
 protected:
  ChatGenerationTest()
      : model(model::describe(
                  {.vocabulary = 259, .length = 96, .layers = 2, .hidden = 16, .heads = 2, .inner = 24}),
              {}) {
    model.parameters().initialise(3);
    const TensorView values = model.parameters().values();
    for (std::int64_t i = 0; i < values.count(); ++i) values.data<float>()[i] *= 4;  // so that answers vary
    save_model_folder(folder.path(), model, marked_tokenizer());
    folder.write(
        "chat_template.jinja",
        "{{ bos_token }}{% for m in messages %}<|turn|>{{ m.role[0] }}:{{ m.content }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|turn|>a:{% endif %}");
    folder.write("tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "<|end|>"})");
  }
  Generator generator() { return Generator(TextModel::load(folder.path().string())); }

  TemporaryFolder folder;
  train::Model model;
};

std::vector<std::int32_t> token_ids(const Generated& written) {
  std::vector<std::int32_t> ids;
  for (const GeneratedToken& token : written.tokens) ids.push_back(token.id);
  return ids;
}

TEST_F(ChatGenerationTest, SpecialTokensAreTheTemplatesAlone) {
  Generator one = generator();
  const std::vector<ChatMessage> messages = {{"user", "<|end|><s>"}};
  const std::vector<std::int32_t> ids = one.chat_prompt(messages);
  std::vector<std::int32_t> expected = {kBegin, kTurn, 'u', ':'};
  for (const char c : messages[0].content) expected.push_back(c);
  for (const std::int32_t id : {kTurnEnd, kTurn, std::int32_t{'a'}, std::int32_t{':'}})
    expected.push_back(id);
  EXPECT_EQ(ids, expected);
}

TEST_F(ChatGenerationTest, EndsAtTheModelsEnd) {
  Generator one = generator();
  EXPECT_EQ(one.defaults().end_tokens, (std::vector<std::int32_t>{kTurnEnd}));
  EXPECT_EQ(one.defaults().begin_token, kBegin);
  const GenerateOptions greedy{.max_tokens = 12, .sampling = {.temperature = 0}};
  const Generated all = one.generate("abc", greedy);
  ASSERT_EQ(all.tokens.size(), 12u);
  // Another id is the end: one that the model writes.
  const std::int32_t id = all.tokens[5].id;
  const auto first = static_cast<std::size_t>(
      std::find_if(all.tokens.begin(), all.tokens.end(), [&](const auto& token) { return token.id == id; }) -
      all.tokens.begin());
  folder.write("generation_config.json", R"({"eos_token_id": [257, )" + std::to_string(id) +
                                             R"(, 99999], "do_sample": true, "temperature": 0.5,
                  "top_k": 7, "top_p": 0.9, "min_p": 0.01, "repetition_penalty": 1.25, "max_new_tokens": 30,
                  "num_beams": 4, "num_beam_groups": 1, "bad_words_ids": [[1]]})");
  Generator other = generator();
  const GenerationDefaults& defaults = other.defaults();
  EXPECT_EQ(defaults.end_tokens, (std::vector<std::int32_t>{257, id}));
  EXPECT_EQ(defaults.sampling.temperature, 0.5);
  EXPECT_EQ(defaults.sampling.top_k, 7);
  EXPECT_EQ(defaults.sampling.top_p, 0.9);
  EXPECT_EQ(defaults.sampling.min_p, 0.01);
  EXPECT_EQ(defaults.sampling.repetition_penalty, 1.25);
  EXPECT_EQ(defaults.max_tokens, 30);
  EXPECT_EQ(defaults.left_out, (std::vector<std::string>{"num_beams", "bad_words_ids"}));
  GenerateOptions plain = greedy;
  plain.sampling.repetition_penalty = 1;
  const Generated ended = other.generate("abc", plain);
  EXPECT_EQ(ended.reason, StopReason::end);
  EXPECT_EQ(ended.tokens.size(), first);
  plain.ignore_end = true;
  EXPECT_EQ(token_ids(other.generate("abc", plain)), token_ids(all));
  // What is not given is the model's.
  GenerateOptions said{
      .sampling = {.temperature = 0.5, .top_k = 7, .top_p = 0.9, .min_p = 0.01, .repetition_penalty = 1.25}};
  said.max_tokens = 30;
  EXPECT_EQ(token_ids(other.generate("abc")), token_ids(other.generate("abc", said)));
}

TEST_F(ChatGenerationTest, WithoutDoSampleIsGreedy) {
  folder.write("generation_config.json", R"({"temperature": 0.5})");
  Generator one = generator();
  EXPECT_EQ(one.defaults().sampling.temperature, 0);
  EXPECT_EQ(one.defaults().sampling.top_k, 50);
}

// A turn that begins with the tokens of the one before reads the rest only, and says the same.
TEST_F(ChatGenerationTest, KeepsWhatWasRead) {
  Generator one = generator();
  std::vector<ChatMessage> messages = {{"user", "hello"}};
  const GenerateOptions greedy{.max_tokens = 10, .sampling = {.temperature = 0}};
  const Generated first = one.chat(messages, greedy);
  EXPECT_EQ(first.reused, 0);
  messages.push_back({"assistant", "fine"});
  messages.push_back({"user", "and you?"});
  const Generated second = one.chat(messages, greedy);
  EXPECT_GE(second.reused, first.prompt_tokens);
  EXPECT_LT(second.reused, second.prompt_tokens);
  Generator fresh = generator();
  EXPECT_EQ(token_ids(fresh.chat(messages, greedy)), token_ids(second));
  EXPECT_EQ(token_ids(one.generate(one.chat_prompt(messages), greedy)), token_ids(second));
  // The same once more: all but the last token is there.
  EXPECT_EQ(one.chat(messages, greedy).reused, second.prompt_tokens - 1);
  // Another conversation has its start in common.
  messages = {{"user", "help"}};
  const Generated other = one.chat(messages, greedy);
  EXPECT_EQ(other.reused, 7);  // <s> <turn> u : h e l
  EXPECT_EQ(token_ids(other), token_ids(generator().chat(messages, greedy)));
}

TEST_F(ChatGenerationTest, KnowsItsRoom) {
  Generator one = generator();
  const GenerateOptions long_answer{.max_tokens = 500, .sampling = {.temperature = 0}, .ignore_end = true};
  const Generated full = one.chat(std::vector<ChatMessage>{{"user", "hi"}}, long_answer);
  EXPECT_EQ(full.reason, StopReason::context);
  EXPECT_EQ(full.prompt_tokens + std::ssize(full.tokens), 97);  // the last one is written and never read
  EXPECT_REFUSES(one.chat(std::vector<ChatMessage>{{"user", std::string(90, 'x')}}, long_answer),
                 "the conversation has 98 tokens, and the model can read 96 with its answer");
  const Generated cut = one.generate(std::string(100, 'x'), long_answer);
  EXPECT_EQ(cut.dropped, 4);
  EXPECT_EQ(cut.prompt_tokens, 96);
  EXPECT_GT(cut.rereads, 5);
  EXPECT_EQ(cut.tokens.size(), 500u);
}

TEST_F(ChatGenerationTest, PiecesAreTheText) {
  Generator one = generator();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string told;
    GenerateOptions options{.max_tokens = 40, .sampling = {.temperature = 3, .top_k = 0, .seed = seed}};
    if (seed % 2 == 1) options.stop = {"a", "bc", "\n\n"};
    options.on_token = [&](const GeneratedToken& token) {
      told += token.text;
      return true;
    };
    const Generated written = one.generate("abc", options);
    EXPECT_TRUE(written.text.starts_with(told)) << seed;
    EXPECT_EQ(written.text.find("bc"), seed % 2 == 1 ? written.text.npos : written.text.find("bc"));
    if (options.stop.empty()) {
      EXPECT_EQ(written.text, one.model().tokenizer().decode(token_ids(written)));
    }
  }
}

TEST_F(ChatGenerationTest, AnEmptyPromptBeginsAText) {
  Generator one = generator();
  const GenerateOptions greedy{.max_tokens = 5, .sampling = {.temperature = 0}};
  EXPECT_EQ(token_ids(one.generate("", greedy)),
            token_ids(one.generate(std::vector<std::int32_t>{kBegin}, greedy)));
  const std::vector<std::string> prompts = {"abc", "", "xyz"};
  const std::vector<Generated> several = one.generate(prompts, greedy);
  ASSERT_EQ(several.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(token_ids(several[i]), token_ids(generator().generate(prompts[i], greedy)));
}

TEST_F(ChatGenerationTest, RefusesFilesThatSayNonsense) {
  const auto defaults_of = [&](const std::string& json) {
    folder.write("generation_config.json", json);
    return generator().defaults();
  };
  EXPECT_FILE_ERROR(defaults_of(R"({"do_sample": true, "temperature": -1})"), "temperature", "is -1");
  EXPECT_FILE_ERROR(defaults_of(R"({"top_p": 2})"), "top_p", "is 2");
  EXPECT_FILE_ERROR(defaults_of(R"({"top_k": 1.5})"), "top_k", "expected a whole number");
  EXPECT_FILE_ERROR(defaults_of(R"({"eos_token_id": "x"})"), "eos_token_id", "expected a whole number");
  EXPECT_FILE_ERROR(defaults_of("[]"), "", "expected an object");
  std::filesystem::remove(folder / "generation_config.json");
  std::filesystem::remove(folder / "chat_template.jinja");
  EXPECT_FILE_ERROR(generator().chat_template(), "", "has no chat template");
  folder.write("tokenizer_config.json", R"({"chat_template": "{{ x | nothing }}"})");
  EXPECT_FILE_ERROR(generator().chat_template(), "line 1", "uses the filter \"nothing\"");
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": ""}]})");
  EXPECT_FILE_ERROR(generator().chat_template(), "chat_template", "has no template named \"default\"");
  folder.write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "rag", "template": ""}, {"name": "default", "template": "x"}]})");
  EXPECT_EQ(generator().chat_prompt({}), (std::vector<std::int32_t>{'x'}));
}

}  // namespace
}  // namespace attend::learn
