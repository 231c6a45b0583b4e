#include <attend/lens_survey.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace attend {
namespace {

struct SurveyMeasure {
  double HeadProfile::*of_text;
  Spread SurveyedHead::*of_all;
  bool repeats = false;  // means something only where a token occurs again
};

constexpr std::array<SurveyMeasure, 10> kSurveyMeasures = {{
    {&HeadProfile::previous, &SurveyedHead::previous},
    {&HeadProfile::next, &SurveyedHead::next},
    {&HeadProfile::same_token, &SurveyedHead::same_token},
    {&HeadProfile::same_word, &SurveyedHead::same_word},
    {&HeadProfile::first, &SurveyedHead::first},
    {&HeadProfile::separator, &SurveyedHead::separator},
    {&HeadProfile::duplicate, &SurveyedHead::duplicate, true},
    {&HeadProfile::induction, &SurveyedHead::induction, true},
    {&HeadProfile::entropy, &SurveyedHead::entropy},
    {&HeadProfile::broad, &SurveyedHead::broad},
}};

void count_habit(std::vector<HabitCount>& habits, std::string_view habit) {
  for (HabitCount& one : habits) {
    if (one.habit == habit) {
      ++one.texts;
      return;
    }
  }
  habits.push_back({habit, 1});
}

}  // namespace

bool HeadSurvey::add(const Reading& reading) {
  const std::vector<HeadProfile> profiles = profile_heads(reading);
  if (reading.not_finite()) return false;
  if (heads_.empty()) heads_.resize(profiles.size());
  if (heads_.size() != profiles.size())
    refuse("survey", "a reading of ", profiles.size(), " heads among readings of ", heads_.size());
  ++texts_;
  for (std::size_t h = 0; h < profiles.size(); ++h) {
    const HeadProfile& profile = profiles[h];
    Head& head = heads_[h];
    head.layer = profile.layer;
    head.head = profile.head;
    head.measures.resize(kSurveyMeasures.size());
    for (std::size_t m = 0; m < kSurveyMeasures.size(); ++m) {
      if (kSurveyMeasures[m].repeats && profile.repeated == 0) continue;
      Tally& tally = head.measures[m];
      const double value = profile.*kSurveyMeasures[m].of_text, before = value - tally.mean;
      tally.mean += before / static_cast<double>(++tally.texts);
      tally.squares += before * (value - tally.mean);
    }
    count_habit(head.habits, habit_of(profile));
  }
  return true;
}

std::vector<SurveyedHead> HeadSurvey::heads() const {
  std::vector<SurveyedHead> result;
  for (const Head& head : heads_) {
    SurveyedHead& one =
        result.emplace_back(SurveyedHead{.layer = head.layer, .head = head.head, .habits = head.habits});
    for (std::size_t m = 0; m < kSurveyMeasures.size(); ++m) {
      const Tally& tally = head.measures[m];
      Spread& spread = one.*kSurveyMeasures[m].of_all;
      spread.mean = tally.mean;
      if (tally.texts > 1) spread.deviation = std::sqrt(tally.squares / static_cast<double>(tally.texts - 1));
    }
    std::stable_sort(one.habits.begin(), one.habits.end(),
                     [](const HabitCount& a, const HabitCount& b) { return a.texts > b.texts; });
  }
  return result;
}

LinkSurvey::LinkSurvey(WordKinds from, WordKinds to) : from_(std::move(from)), to_(std::move(to)) {}

std::int64_t LinkSurvey::add(const Reading& reading) {
  if (reading.not_finite()) return 0;
  const std::vector<Word>& words = reading.words();
  const std::vector<bool> from = from_.in(words), to = to_.in(words);
  const auto count = std::count(from.begin(), from.end(), true);
  if (count == 0 || std::find(to.begin(), to.end(), true) == to.end()) return 0;
  ++texts_;
  words_ += count;
  if (heads_.empty()) {
    for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
      for (std::int64_t head = 1; head <= reading.heads(); ++head)
        heads_.push_back({.layer = layer, .head = head});
    }
  }
  for (Head& head : heads_) {
    const TokenRange looking = reading.looking(head.layer);
    const LensQuery query{.heads = {.layer = head.layer, .head = head.head}};
    lens_each_row(reading, query, words, [&](std::size_t i, std::span<const double> row) {
      if (words[i].special || !looking.contains(words[i].first_token)) return;
      double weight = 0;
      for (std::size_t j = 0; j < row.size(); ++j) weight += to[j] && j != i ? row[j] : 0;
      (from[i] ? head.weight : head.by_others) += weight;
      ++(from[i] ? head.words : head.others);
    });
  }
  return count;
}

LinkExample LinkSurvey::strongest(const Reading& reading, std::int64_t text, const HeadChoice& head) const {
  const std::vector<Word>& words = reading.words();
  const std::vector<bool> from = from_.in(words), to = to_.in(words);
  LinkExample best{.text = text};
  if (reading.not_finite()) return best;
  lens_each_row(reading, {.heads = head}, words, [&](std::size_t i, std::span<const double> row) {
    for (std::size_t j = 0; from[i] && j < row.size(); ++j) {
      if (to[j] && j != i && row[j] > best.weight)
        best = {.text = text, .from = i, .to = j, .weight = row[j]};
    }
  });
  return best;
}

std::vector<KindLink> LinkSurvey::heads() const {
  const auto mean = [](double sum, std::int64_t count) {
    return count == 0 ? 0 : sum / static_cast<double>(count);
  };
  std::vector<KindLink> result;
  for (const Head& head : heads_) {
    result.push_back({.layer = head.layer,
                      .head = head.head,
                      .weight = mean(head.weight, head.words),
                      .others = mean(head.by_others, head.others)});
  }
  std::stable_sort(result.begin(), result.end(), [](const KindLink& a, const KindLink& b) {
    return a.weight - a.others > b.weight - b.others;
  });
  return result;
}

}  // namespace attend
