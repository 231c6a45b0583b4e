// A survey of heads, as parts of a figure and as JSON.
#pragma once

#include <string>
#include <vector>

#include "draw/figure.h"
#include "survey/survey_texts.h"

namespace attend::survey {

// The lists: what each head does, which heads link words of a kind, and the sentences in which one does.
std::vector<draw::Part> survey_lists(const SurveyReport& report, const SurveyRequest& request);
// Every habit as a map of layers and heads: means, then deviations; and the lists.
draw::Figure survey_figure(const SurveyReport& report, const SurveyRequest& request);
// "120 texts, 2,345 tokens; ..." and how to read the lists.
std::vector<std::string> survey_notes(const SurveyReport& report);

std::string survey_json(const SurveyReport& report, const SurveyRequest& request);

}  // namespace attend::survey
