// Reads a file of texts and surveys what each head does with them, in constant memory.
#pragma once

#include <attend/lens_survey.h>
#include <attend/text_model.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "embed/text_lines.h"

namespace attend::survey {

struct SurveyRequest {
  struct Link {
    WordKinds from, to;
  };
  std::vector<Link> links{};
  HeadChoice head{};    // whose strongest links are shown; none: only which heads link them
  std::size_t top = 8;  // examples, and lines of a list of heads
  std::optional<std::int64_t> max_texts{};
};

// "pronoun>name". Throws std::invalid_argument.
SurveyRequest::Link link_from(const std::string& text);

// A sentence in which the head links such words.
struct Example {
  LinkExample link;
  std::string text;
  TextSpan from, to;  // characters of the text
  std::string from_word, to_word;
};

struct LinkReport {
  LinkSurvey survey;
  std::vector<Example> examples{};  // strongest first
};

struct SurveyReport {
  std::string model;
  bool causal = false;
  std::vector<std::string> layer_names{};
  std::int64_t texts = 0, tokens = 0;
  std::int64_t empty = 0, cut = 0,
               not_finite = 0;  // lines without text; texts longer than the model reads; left out
  std::vector<SurveyedHead> heads{};
  std::vector<LinkReport> links{};
};

// report(texts so far) after each text. Throws FileError for a text that the tokenizer refuses.
SurveyReport survey_texts(const TextModel& model, embed::TextLines& lines, const SurveyRequest& request,
                          const std::function<void(std::int64_t)>& report);

}  // namespace attend::survey
