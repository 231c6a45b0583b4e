// The JSON bodies of requests, which are untrusted: each function throws Refused for what it cannot read.
// Fields that a route does not know are ignored, because every client sends some.
#pragma once

#include <attend/lens.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attend::serve {

// A text, or the ids of one, which are read as they are.
using Input = std::variant<std::string, std::vector<std::int32_t>>;

// How inputs become what the model reads.
struct InputOptions {
  bool truncate = true;   // what is too long is cut, else refused
  bool cut_left = false;  // at its start
  std::optional<std::string> prompt_name{};
};

// POST /v1/embeddings
struct EmbeddingsBody {
  std::optional<std::string> model{};
  std::vector<Input> inputs{};
  InputOptions reading{.truncate = false};
  bool base64 = false;
  std::optional<std::int64_t> dimensions{};
};
EmbeddingsBody parse_embeddings(std::string_view body, std::size_t most_inputs);

// POST /embed, /embed_all
struct EmbedBody {
  std::optional<std::string> model{};
  std::vector<Input> inputs{};
  InputOptions reading{};
  bool normalize = true;
  std::optional<std::int64_t> dimensions{};
};
EmbedBody parse_embed(std::string_view body, std::size_t most_inputs);

// POST /similarity: the first input is the one that the others are compared with.
EmbedBody parse_similarity(std::string_view body, std::size_t most_inputs);

// POST /predict
struct PredictBody {
  struct Text {
    std::string first{};
    std::optional<std::string> second{};  // of a pair
  };
  std::optional<std::string> model{};
  std::vector<Text> texts{};
  bool single = false;  // not in a list, and so is the answer
  InputOptions reading{};
  bool raw_scores = false;  // before any function
};
PredictBody parse_predict(std::string_view body, std::size_t most_inputs);

// POST /rerank, in the form of Text Embeddings Inference or, where the body has "documents", of Cohere and
// Jina.
struct RerankBody {
  std::optional<std::string> model{};
  std::string query{};
  std::vector<std::string> texts{};
  InputOptions reading{};
  bool raw_scores = false;
  bool return_text = false;
  bool documents = false;  // Cohere's form
  std::optional<std::int64_t> top_n{};
};
RerankBody parse_rerank(std::string_view body, std::size_t most_texts, std::size_t most_documents);

// POST /tokenize
struct TokenizeBody {
  std::optional<std::string> model{};
  std::vector<std::string> texts{};
  bool add_special_tokens = true;
  std::optional<std::string> prompt_name{};
};
TokenizeBody parse_tokenize(std::string_view body, std::size_t most_inputs);

// POST /decode
struct DecodeBody {
  std::optional<std::string> model{};
  std::vector<std::vector<std::int32_t>> ids{};
  bool skip_special_tokens = true;
};
DecodeBody parse_decode(std::string_view body, std::size_t most_inputs);

// POST /explain
struct ExplainBody {
  std::optional<std::string> model{};
  std::string text{};
  InputOptions reading{};
  HeadChoice heads{};
  LensMethod method = LensMethod::raw;
  bool words = false;  // rows and columns are words, not tokens
  bool special = true;
  bool map = false;
  std::int64_t top_k = 5;
  bool npz = false;
};
ExplainBody parse_explain(std::string_view body);

}  // namespace attend::serve
