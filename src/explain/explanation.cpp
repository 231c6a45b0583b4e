#include "explain/explanation.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "explain/focus.h"

namespace attend::explain {
namespace {

// The first pair: up to the last comma before the next arrow, so that a comma can itself be a word.
std::string_view first_pair(std::string_view text) {
  const std::size_t arrow = text.find('>');
  if (arrow == text.npos) return text;
  const std::size_t next = text.find('>', arrow + 1);
  if (next == text.npos) return text;
  const std::size_t comma = text.substr(0, next).rfind(',');
  return comma == text.npos || comma < arrow ? text : text.substr(0, comma);
}

Relation parse_relation(const Reading& reading, std::string_view text) {
  Relation relation{.name = std::string(text), .pairs = {}};
  std::string_view rest = text;
  if (const std::size_t colon = text.find(':'); colon != text.npos && colon < text.find('>')) {
    relation.name = text.substr(0, colon);
    rest = text.substr(colon + 1);
  }
  while (true) {
    const std::string_view pair = first_pair(rest);
    const std::size_t arrow = pair.find('>');
    if (arrow == 0 || arrow == pair.npos || arrow + 1 == pair.size())
      refuse("explain", "\"", text, "\" is not a relation: expected NAME:WORD>WORD,WORD>WORD");
    relation.pairs.push_back({.from = find_word(reading.words(), pair.substr(0, arrow)),
                              .to = find_word(reading.words(), pair.substr(arrow + 1))});
    if (pair.size() == rest.size()) return relation;
    rest = rest.substr(pair.size() + 1);
  }
}

bool shows_heads(const LensQuery& query) {
  return query.method == LensMethod::raw || query.method == LensMethod::norm;
}

// The word that a focus is, or that its token belongs to.
std::optional<std::size_t> focus_word(const Reading& reading, const ExplainRequest& request) {
  if (!request.focus) return std::nullopt;
  if (!request.tokens) return find_word(reading.words(), *request.focus);
  const std::vector<Word> tokens = single_tokens(reading);
  const std::int64_t token = tokens[find_word(tokens, *request.focus)].first_token;
  const auto found = std::find_if(reading.words().begin(), reading.words().end(),
                                  [&](const Word& word) { return token < word.last_token; });
  return static_cast<std::size_t>(found - reading.words().begin());
}

std::vector<NotableHead> notable_for(const Reading& reading, const ExplainRequest& request) {
  if (!shows_heads(request.query) || reading.only_layer()) return {};
  return notable_heads(reading, focus_word(reading, request));
}

}  // namespace

void choose_head(const Reading& reading, ExplainRequest& request) {
  if (request.query.heads.layer) return;
  const std::vector<NotableHead> notable = notable_for(reading, request);
  if (notable.empty()) return;
  request.chosen = notable.front();
  request.query.heads = {.layer = notable.front().layer, .head = notable.front().head};
}

std::optional<std::int64_t> only_layer_of(const ExplainRequest& request) {
  const LensMethod method = request.query.method;
  const bool one = (method == LensMethod::raw || method == LensMethod::norm) && !request.to &&
                   !request.heads && request.ablate.empty();
  return one ? request.query.heads.layer : std::nullopt;
}

Tensor explain_map(const Reading& reading, const ExplainRequest& request) {
  const std::optional<FirstToken> first =
      request.sink == SinkChoice::keep ? std::nullopt : first_token_of(reading);
  const Units units = Units::of(reading, request, first);
  return std::move(shown_map(reading, request, units).cells);
}

Explanation explain(const Reading& reading, const ExplainRequest& request) {
  const std::optional<FirstToken> first = first_token_of(reading);
  Units units = Units::of(reading, request, first);
  std::optional<std::size_t> focus;
  if (request.focus) focus = find_word(units.all, *request.focus);
  if (focus && units.all[*focus].special) units.special = true;  // it was asked for
  if (focus && units.folds && units.all[*focus].first_token == 0) {
    ExplainRequest kept = request;
    kept.sink = SinkChoice::keep;
    units = Units::of(reading, kept, first);
    focus = find_word(units.all, *request.focus);
  }

  Explanation result;
  for (const Word& unit : units.all) {
    if (units.shows(unit)) {
      result.units.push_back(unit);
    } else if (!units.folds || unit.first_token != 0) {
      result.left_out.push_back(unit);
    }
  }
  if (first) result.sink = Sink{.token = *first, .folded = units.folds};
  const LensMethod method = request.query.method;
  if (method == LensMethod::flow && !focus)
    refuse("explain", "flow is computed for one word at a time: which one?");
  const bool one_row = method == LensMethod::flow ||
                       (method == LensMethod::rollout && focus && reading.size() > kMostRolloutTokens);
  if (!one_row) {
    ShownMap shown = shown_map(reading, request, units);
    result.map_units = std::move(shown.units);
    result.map = std::move(shown.cells);
    result.top = std::move(shown.top);
    result.special_share = shown.special_share;
    if (result.sink) result.sink->map_share = shown.sink_share;
  }
  for (const double received : lens_received(reading, request.query.heads, result.units))
    result.received.push_back(received / static_cast<double>(reading.size()));
  if (focus) result.focus = focus_on(reading, request, units, *focus);
  result.notable = notable_for(reading, request);
  if (request.to) {
    if (!request.focus) refuse("explain", "which word should the heads link to \"", *request.to, "\"?");
    result.links = find_heads(reading, {.from = find_word(reading.words(), *request.focus),
                                        .to = find_word(reading.words(), *request.to)});
  }
  for (const std::string& text : request.relations) {
    const Relation relation = parse_relation(reading, text);
    result.relations.push_back({relation, find_heads(reading, relation.pairs)});
  }
  if (request.guesses) result.guesses = guess_tokens(reading, guessed_place(reading), request.top);
  if (request.heads) result.profiles = profile_heads(reading);
  if (!request.ablate.empty()) {
    PassEdits edits;
    for (const std::string& text : request.ablate) {
      const PassEdits one = parse_edit(reading, text);
      edits.heads.insert(edits.heads.end(), one.heads.begin(), one.heads.end());
      edits.edges.insert(edits.edges.end(), one.edges.begin(), one.edges.end());
    }
    result.change = change_by(reading, edits);
  }
  return result;
}

std::string not_finite_note(const Reading& reading, const Explanation& explanation) {
  if (reading.not_finite()) return sentence_of(reading, *reading.not_finite());
  const auto& change = explanation.change;
  if (!change || !change->not_finite) return {};
  return "With the edits: " + sentence_of(reading, *change->not_finite);
}

}  // namespace attend::explain
