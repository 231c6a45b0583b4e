#include "survey/survey_texts.h"

#include <attend/file_error.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace attend::survey {
namespace {

// The strongest examples so far; equal ones in the order of the file.
void keep_example(std::vector<Example>& examples, Example example, std::size_t most) {
  const auto place = std::find_if(examples.begin(), examples.end(), [&](const Example& other) {
    return other.link.weight < example.link.weight;
  });
  examples.insert(place, std::move(example));
  if (examples.size() > most) examples.pop_back();
}

Example example_of(const Reading& reading, const LinkExample& link) {
  const Word &from = reading.words()[link.from], &to = reading.words()[link.to];
  return {.link = link,
          .text = reading.text(),
          .from = from.place,
          .to = to.place,
          .from_word = from.text,
          .to_word = to.text};
}

}  // namespace

SurveyRequest::Link link_from(const std::string& text) {
  const std::size_t arrow = text.find('>');
  if (arrow == 0 || arrow == std::string::npos || arrow + 1 == text.size() ||
      text.find('>', arrow + 1) != std::string::npos) {
    refuse("link", "\"", text, "\" is not a link: expected WORDS>WORDS, such as pronoun>name or it,he>=cat");
  }
  return {.from = WordKinds(text.substr(0, arrow)), .to = WordKinds(text.substr(arrow + 1))};
}

SurveyReport survey_texts(const TextModel& model, embed::TextLines& lines, const SurveyRequest& request,
                          const std::function<void(std::int64_t)>& report) {
  SurveyReport result{.model = model.files().name};
  for (const SurveyRequest::Link& link : request.links)
    result.links.push_back({.survey = LinkSurvey(link.from, link.to)});
  HeadSurvey heads;
  for (std::string text; (!request.max_texts || heads.texts() < *request.max_texts) && lines.next(text);) {
    if (text.find_first_not_of(" \t") == std::string::npos) {
      ++result.empty;
      continue;
    }
    const Reading reading = [&] {
      try {
        return Reading(model, text, {}, {.keep = Keep::attention});
      } catch (const std::invalid_argument& error) {  // the tokenizer refuses the text
        throw FileError(lines.name(), joined("line ", lines.line()), error.what());
      }
    }();
    if (!heads.add(reading)) {
      ++result.not_finite;
      continue;
    }
    if (result.layer_names.empty()) {
      result.causal = reading.is_causal();
      for (std::int64_t layer = 1; layer <= reading.layers(); ++layer)
        result.layer_names.push_back(reading.layer_name(layer));
    }
    result.tokens += reading.size();
    result.cut += reading.tokens().dropped > 0 || lines.continues() ? 1 : 0;
    for (LinkReport& link : result.links) {
      if (link.survey.add(reading) == 0 || !request.head.head) continue;
      const LinkExample best = link.survey.strongest(reading, lines.line(), request.head);
      if (best.weight > 0) keep_example(link.examples, example_of(reading, best), request.top);
    }
    report(heads.texts());
  }
  result.texts = heads.texts();
  result.heads = heads.heads();
  return result;
}

}  // namespace attend::survey
