// Parsing of the bodies of requests, and what refusals tell.
#include "serve/bodies.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "serve/refused.h"
#include "serve/writing_bodies.h"

namespace attend::serve {
namespace {

template <class Action>
std::optional<Fault> fault_of(const Action& action) {
  try {
    action();
  } catch (const Refused& refused) {
    return refused.fault;
  }
  return std::nullopt;
}

using Ids = std::vector<std::int32_t>;

TEST(EmbeddingsBody, HasAnyOfFourInputs) {
  EXPECT_EQ(parse_embeddings(R"({"input": "a"})", 9).inputs, std::vector<Input>{"a"});
  EXPECT_EQ(parse_embeddings(R"({"input": ["a", "b"]})", 9).inputs, (std::vector<Input>{"a", "b"}));
  EXPECT_EQ(parse_embeddings(R"({"input": [1, 2]})", 9).inputs, (std::vector<Input>{Ids{1, 2}}));
  EXPECT_EQ(parse_embeddings(R"({"input": [[1], [2, 3]]})", 9).inputs,
            (std::vector<Input>{Ids{1}, Ids{2, 3}}));
}

TEST(EmbeddingsBody, IgnoresWhatItDoesNotKnow) {
  const EmbeddingsBody body = parse_embeddings(
      R"({"input": "a", "model": "m", "encoding_format": "base64", "dimensions": 3, "user": {"x": [1]}, "truncate": null})",
      1);
  EXPECT_EQ(body.model, "m");
  EXPECT_TRUE(body.base64);
  EXPECT_EQ(body.dimensions, 3);
  EXPECT_FALSE(body.reading.truncate);
}

TEST(EmbeddingsBody, RefusesWhatItCannotRead) {
  const auto fault = [](std::string_view body) { return fault_of([&] { parse_embeddings(body, 2); }); };
  for (const char* const body :
       {"", "x", "{", "{\"input\": \"\xff\"}", R"({"input": "a"} x)", R"({"a": 1, "a": 2})"})
    EXPECT_EQ(fault(body), Fault::syntax) << body;
  for (const char* const body :
       {"[]", "1", "{}", R"({"input": null})", R"({"input": {}})", R"({"input": [true]})",
        R"({"input": [1, "a"]})", R"({"input": ["a", 1]})", R"({"input": [-1]})",
        R"({"input": [2147483648]})", R"({"input": [1.5]})", R"({"input": "a", "dimensions": 0})",
        R"({"input": "a", "encoding_format": "int8"})", R"({"input": "a", "model": 1})"})
    EXPECT_EQ(fault(body), Fault::invalid) << body;
  for (const char* const body :
       {R"({"input": []})", R"({"input": ""})", R"({"input": ["a", ""]})", R"({"input": [[]]})"})
    EXPECT_EQ(fault(body), Fault::empty) << body;
  EXPECT_EQ(fault(R"({"input": ["a", "b", "c"]})"), Fault::too_many);
  EXPECT_EQ(fault(std::string(100'000, '[')), Fault::syntax);
}

TEST(EmbedBody, HasTheDefaultsOfItsClients) {
  const EmbedBody plain = parse_embed(R"({"inputs": ""})", 1);
  EXPECT_TRUE(plain.normalize && plain.reading.truncate && !plain.reading.cut_left);
  const EmbedBody other = parse_embed(
      R"({"inputs": [[1]], "normalize": false, "truncate": false, "truncation_direction": "Left", "prompt_name": "query"})",
      1);
  EXPECT_FALSE(other.normalize || other.reading.truncate);
  EXPECT_TRUE(other.reading.cut_left);
  EXPECT_EQ(other.reading.prompt_name, "query");
}

TEST(OtherBodies, AreTakenApart) {
  const EmbedBody similarity = parse_similarity(
      R"({"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}, "parameters": {"truncate": false}})",
      2);
  EXPECT_EQ(similarity.inputs, (std::vector<Input>{"a", "b", "c"}));
  EXPECT_FALSE(similarity.reading.truncate);
  EXPECT_EQ(
      fault_of([] { parse_similarity(R"({"inputs": {"source_sentence": 1, "sentences": ["b"]}})", 2); }),
      Fault::invalid);
  EXPECT_EQ(fault_of([] { parse_similarity(R"({"inputs": "a"})", 2); }), Fault::invalid);

  EXPECT_EQ(parse_tokenize(R"({"inputs": "a", "add_special_tokens": false})", 1).texts,
            std::vector<std::string>{"a"});
  EXPECT_EQ(parse_decode(R"({"ids": [1, 2]})", 1).ids, (std::vector<Ids>{{1, 2}}));
  EXPECT_EQ(fault_of([] { parse_decode(R"({"ids": "a"})", 1); }), Fault::invalid);

  const ExplainBody explain = parse_explain(
      R"({"inputs": "a", "layer": 2, "head": 1, "method": "norm", "units": "words", "top_k": 0, "map": true})");
  EXPECT_EQ(explain.heads.layer, 2);
  EXPECT_EQ(explain.method, LensMethod::norm);
  EXPECT_TRUE(explain.words && explain.map && explain.special);
  for (const char* const body :
       {R"({"inputs": "a", "head": 1})", R"({"inputs": [1]})", R"({"inputs": "a", "layer": 0})",
        R"({"inputs": "a", "top_k": 1001})", R"({"inputs": "a", "method": "grad"})"})
    EXPECT_EQ(fault_of([&] { parse_explain(body); }), Fault::invalid) << body;
}

TEST(PredictBody, IsATextAPairOrAList) {
  const auto texts = [](std::string_view inputs) {
    std::string shown;
    const PredictBody body = parse_predict(joined(R"({"inputs": )", inputs, "}"), 3);
    for (const PredictBody::Text& text : body.texts)
      shown += joined('(', text.first, text.second ? "|" : "", text.second.value_or(""), ')');
    return shown + (body.single ? "" : "...");
  };
  EXPECT_EQ(texts(R"("a")"), "(a)");
  EXPECT_EQ(texts(R"(["a"])"), "(a)");
  EXPECT_EQ(texts(R"(["a", "b"])"), "(a|b)");
  EXPECT_EQ(texts(R"([["a"]])"), "(a)...");
  EXPECT_EQ(texts(R"([["a"], ["a", ""], ["b"]])"), "(a)(a|)(b)...");
  for (const char* const inputs :
       {"1", "null", "{}", "[1]", R"(["a", "b", "c"])", R"(["a", ["b"]])", R"([["a"], "b"])",
        R"([["a", "b", "c"]])", R"([["a", 1]])", R"([[["a"]]])"})
    EXPECT_EQ(fault_of([&] { texts(inputs); }), Fault::invalid) << inputs;
  for (const char* const inputs : {"[]", "[[]]", R"([["a"], []])"})
    EXPECT_EQ(fault_of([&] { texts(inputs); }), Fault::empty) << inputs;
  EXPECT_EQ(fault_of([&] { texts(R"([["a"], ["b"], ["c"], ["d"]])"); }), Fault::too_many);
  EXPECT_FALSE(parse_predict(R"({"inputs": "a"})", 1).raw_scores);
  const PredictBody body = parse_predict(
      R"({"inputs": "a", "raw_scores": true, "truncate": false, "truncation_direction": "left"})", 1);
  EXPECT_TRUE(body.raw_scores && body.reading.cut_left && !body.reading.truncate);
}

TEST(RerankBody, IsAQueryAndItsTexts) {
  const RerankBody plain = parse_rerank(R"({"query": "q", "texts": ["a", ""]})", 2, 3);
  EXPECT_EQ(plain.query, "q");
  EXPECT_EQ(plain.texts, (std::vector<std::string>{"a", ""}));
  EXPECT_FALSE(plain.raw_scores || plain.return_text || !plain.reading.truncate);
  const RerankBody other = parse_rerank(
      R"({"query": "", "texts": ["a"], "raw_scores": true, "return_text": true, "truncate": false, "model": "m"})",
      2, 3);
  EXPECT_TRUE(other.raw_scores && other.return_text && !other.reading.truncate);
  EXPECT_EQ(other.model, "m");
  const auto fault = [](std::string_view body) { return fault_of([&] { parse_rerank(body, 2, 3); }); };
  for (const char* const body :
       {R"({"texts": ["a"]})", R"({"query": "q"})", R"({"query": ["q"], "texts": ["a"]})",
        R"({"query": "q", "texts": [1]})", R"({"query": "q", "texts": ["a"], "return_text": 1})"})
    EXPECT_EQ(fault(body), Fault::invalid) << body;
  EXPECT_EQ(fault(R"({"query": "q", "texts": []})"), Fault::empty);
  EXPECT_EQ(fault(R"({"query": "q", "texts": ["a", "b", "c"]})"), Fault::too_many);

  const RerankBody documents = parse_rerank(
      R"({"query": "q", "documents": ["a", {"text": "b", "x": 1}, ""], "top_n": 2, "return_documents": true})",
      2, 3);
  EXPECT_EQ(documents.texts, (std::vector<std::string>{"a", "b", ""}));
  EXPECT_TRUE(documents.documents && documents.return_text && documents.top_n == 2);
  for (const char* const body :
       {R"({"query": "q", "documents": "a"})", R"({"query": "q", "documents": [["a"]]})",
        R"({"query": "q", "documents": [{"title": "a"}]})",
        R"({"query": "q", "documents": ["a"], "top_n": 0})"})
    EXPECT_EQ(fault(body), Fault::invalid) << body;
  EXPECT_EQ(fault(R"({"query": "q", "documents": []})"), Fault::empty);
  EXPECT_EQ(fault(R"({"query": "q", "documents": ["a", "b", "c", "d"]})"), Fault::too_many);
}

TEST(WritingBodies, AreTakenApart) {
  const WritingBody completion = parse_completion(
      R"({"prompt": ["a", [1]], "temperature": 0, "stop": "x", "seed": -1, "n": 2, "logprobs": null, "stream": true, "stream_options": {"include_usage": true}})");
  EXPECT_EQ(completion.prompts, (std::vector<Input>{"a", Ids{1}}));
  EXPECT_EQ(completion.options.max_tokens, 16);
  EXPECT_EQ(completion.options.sampling.temperature, 0);
  EXPECT_EQ(completion.options.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(completion.seed, static_cast<std::uint64_t>(-1));
  EXPECT_TRUE(completion.choices == 2 && completion.stream && completion.include_usage);
  const WritingBody chat = parse_chat(
      R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"role": "assistant", "content": null}], "max_completion_tokens": 5, "max_tokens": 6})");
  ASSERT_EQ(chat.messages.size(), 2u);
  EXPECT_EQ(chat.messages[0].role + chat.messages[0].content + chat.messages[1].content, "userab");
  EXPECT_EQ(chat.options.max_tokens, 5);
}

TEST(WritingBodies, RefuseWhatTheyCannotRead) {
  for (const char* const more : {R"("temperature": 3)", R"("top_p": -1)", R"("stop": [1])", R"("n": 0)",
                                 R"("seed": 1.5)", R"("max_tokens": 0)", R"("logprobs": 6)",
                                 R"("logprobs": true)", R"("echo": true)", R"("stream_options": 1)"}) {
    const std::string body = std::string(R"({"prompt": "a", )") + more + "}";
    EXPECT_EQ(fault_of([&] { parse_completion(body); }), Fault::invalid) << body;
  }
  for (const char* const messages :
       {"1", "[1]", "[{}]", R"([{"role": 1}])", R"([{"role": "user", "content": 1}])",
        R"([{"role": "user", "content": [{"type": "image_url"}]}])"}) {
    const std::string body = std::string(R"({"messages": )") + messages + "}";
    EXPECT_EQ(fault_of([&] { parse_chat(body); }), Fault::invalid) << body;
  }
  EXPECT_EQ(fault_of([] { parse_chat(R"({"messages": []})"); }), Fault::empty);
}

TEST(Refusals, AreWhatEachFamilyReads) {
  const Refused refused(Fault::too_long, "a \"text\" is too long", "input");
  EXPECT_EQ(
      refusal(Family::openai, refused).body,
      R"({"error":{"message":"a \"text\" is too long","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}})");
  EXPECT_EQ(refusal(Family::tei, refused).body,
            R"({"error":"a \"text\" is too long","error_type":"Validation"})");
  EXPECT_EQ(refusal(Family::openai, refused).status, 400);
  EXPECT_EQ(refusal(Family::tei, refused).status, 422);
  EXPECT_EQ(refusal(Family::tei, {Fault::overloaded, ""}).headers.front().first, "Retry-After");
  for (int fault = 0; fault <= static_cast<int>(Fault::internal); ++fault)
    for (const Family family : {Family::openai, Family::tei})
      EXPECT_GE(refusal(family, {static_cast<Fault>(fault), "x"}).status, 400);
  EXPECT_EQ(refused_by(std::bad_alloc()).fault, Fault::internal);
}

}  // namespace
}  // namespace attend::serve
