// Whether a model's vectors equal those of a reference and, if not, why.
#include <optional>
#include <string_view>

#include "base/error.h"
#include "doctor/agreement.h"
#include "doctor/causes.h"
#include "doctor/hidden_states.h"
#include "doctor/sections.h"
#include "draw/number.h"
#include "draw/prose.h"
#include "draw/text_width.h"

namespace attend::doctor {
namespace {

constexpr double kReducedTokenNoise = 0.1;  // bf16 gives 0.05 in the sixth layer

Json json_of(const Agreement& agreement) {
  return {{"worst_cosine", agreement.worst_cosine},   {"worst_text", agreement.worst_text},
          {"median_cosine", agreement.median_cosine}, {"max_abs_error", agreement.max_abs_error},
          {"distance", agreement.distance},           {"verdict", name_of(agreement.verdict())}};
}

void add_embeddings(Section& section, const Agreement& agreement, const std::vector<std::string>& texts) {
  section.add("embeddings", json_of(agreement), "");
  const std::string worst =
      agreement.texts == 0
          ? ""
          : joined(" (text ", agreement.worst_text, ", ",
                   draw::in_quotes(texts[static_cast<std::size_t>(agreement.worst_text)]), ")");
  section.add("cosine", nullptr,
              joined("worst ", cosine_text(agreement.worst_cosine), worst, ", median ",
                     cosine_text(agreement.median_cosine)));
  section.add("error", nullptr,
              joined("largest ", draw::format_short(agreement.max_abs_error, 2), "; largest distance ",
                     draw::format_short(agreement.distance, 2), " of a vector's length"));
  section.facts[section.facts.size() - 2].value = agreement.worst_cosine;
  section.facts.back().value = agreement.max_abs_error;
}

void add_diagnosis(Section& section, const Diagnosis& diagnosis) {
  draw::Table table{
      .title =
          joined("The usual causes, each tried: cosines and largest error over ", diagnosis.texts, " texts"),
      .label_header = "cause",
      .columns = {{"", draw::Align::left}, {"worst"}, {"median"}, {"largest error"}, {"", draw::Align::left}},
      .rows = {}};
  Json list = Json::array();
  for (const Trial& trial : diagnosis.trials) {
    Json entry{{"cause", trial.cause}, {"setting", trial.setting}, {"explains", trial.explains}};
    if (trial.agreement) entry.update(json_of(*trial.agreement));
    if (!trial.why_not.empty()) entry["why_not"] = trial.why_not;
    list.push_back(std::move(entry));
    draw::TableRow row{trial.cause, {trial.setting}};
    if (trial.agreement) {
      row.cells.insert(row.cells.end(), {cosine_text(trial.agreement->worst_cosine),
                                         cosine_text(trial.agreement->median_cosine),
                                         draw::format_short(trial.agreement->max_abs_error, 2)});
      row.cells.emplace_back(trial.explains ? "agrees" : "");
      if (trial.explains) row.emphasis = draw::Emphasis::bold;
    } else {
      row.cells.insert(row.cells.end(), {"", "", "", trial.why_not});
      row.emphasis = draw::Emphasis::dim;
    }
    table.rows.push_back(std::move(row));
  }
  section.add("causes", std::move(list), "");
  section.add("conclusion", diagnosis.conclusion, "");
  section.tables.push_back(std::move(table));
  section.notes.push_back(diagnosis.conclusion);
}

// Explains a distance that is larger than fp32 noise but smaller than that of a mistake.
std::string half_precision(ConstTensorView reference) {
  if (const std::optional<DType> dtype = narrow_type_of(reference)) {
    return joined("Not within fp32 noise: all numbers of the reference are ", attend::name_of(*dtype),
                  "; it was stored or computed in that type.");
  }
  return "Not within fp32 noise: a part of the reference was computed in 16 bits or in TF32, or with the "
         "other form of GELU.";
}

bool add_ids(Section& section, const TextModel& model, const std::vector<std::string>& texts,
             const TokenBatch& reference) {
  const std::optional<TokenDifference> difference = compare_ids(model, texts, reference);
  if (!difference) {
    section.add("ids", Json{{"equal", true}}, joined("all ", reference.tokens(), " are equal"));
    return true;
  }
  const auto shown = [&](const std::optional<std::int32_t>& id) {
    return id ? joined(*id, " ", draw::in_quotes(model.tokenizer().token(*id))) : std::string("no token");
  };
  const std::string where = joined("text ", difference->text, ", token ", difference->token);
  section.add("ids",
              Json{{"equal", false},
                   {"text", difference->text},
                   {"token", difference->token},
                   {"ours", difference->ours ? Json(*difference->ours) : Json()},
                   {"theirs", difference->theirs ? Json(*difference->theirs) : Json()},
                   {"conclusion", difference->meaning}},
              joined("differ, first at ", where, ": here ", shown(difference->ours), ", there ",
                     shown(difference->theirs)));
  section.notes.push_back(difference->meaning.empty()
                              ? "Tokenization differs, and not for any of the usual reasons: " + where + "."
                              : "Tokenization differs: " + difference->meaning +
                                    ", which explains all of its ids.");
  return false;
}

bool add_hidden(Section& section, const TextModel& model, const Reference& reference) {
  const HiddenAgreement agreement = compare_hidden(model, reference);
  const Verdict verdict = token_verdict_of(agreement.distance());
  Json layers = Json::array();
  draw::Table table{.title = "Hidden states, for the reference's own ids",
                    .label_header = "layer",
                    .columns = {{"largest error"}, {"largest distance"}, {"", draw::Align::left}},
                    .rows = {}};
  for (const LayerAgreement& layer : agreement.layers) {
    const std::string name(name_of(token_verdict_of(layer.distance)));
    layers.push_back({{"layer", layer.layer},
                      {"max_abs_error", layer.max_abs_error},
                      {"distance", layer.distance},
                      {"verdict", name}});
    table.rows.push_back(
        {std::to_string(layer.layer),
         {draw::format_short(layer.max_abs_error, 2), draw::format_short(layer.distance, 2), name}});
  }
  Json first;
  if (const auto& at = agreement.first) {
    first = {{"layer", at->layer},           {"text", at->text},       {"token", at->token},
             {"token_text", at->token_text}, {"element", at->element}, {"ours", at->ours},
             {"theirs", at->theirs}};
    section.notes.push_back(joined("The first to differ is layer ", at->layer, ": text ", at->text,
                                   ", token ", at->token, " ", draw::in_quotes(at->token_text), ", element ",
                                   at->element, ": here ", draw::format_short(at->ours, 7), ", there ",
                                   draw::format_short(at->theirs, 7), "."));
  }
  const auto narrow = narrow_type_of(reference.hidden.begin()->second);
  if (narrow && agreement.first && agreement.distance() <= kReducedTokenNoise) {
    section.notes.push_back(joined("All numbers of its layer ", reference.hidden.begin()->first, " are ",
                                   attend::name_of(*narrow),
                                   ": it was computed in that type, which is enough to explain this."));
  }
  section.add("hidden_states",
              Json{{"verdict", name_of(verdict)}, {"layers", layers}, {"first_difference", first}},
              std::string(name_of(verdict)));
  section.tables.push_back(std::move(table));
  return verdict != Verdict::differs;
}

}  // namespace

Section parity_section(const TextModel& model, const Reference& reference,
                       const std::vector<std::string>* texts, bool& holds) {
  require_fitting(reference, model,
                  texts != nullptr ? std::optional(static_cast<std::int64_t>(texts->size())) : std::nullopt);
  Section section{"parity", "Parity with " + draw::printable(reference.file)};
  section.add("reference", reference.file, "");
  section.add("texts", reference.texts(), std::to_string(reference.texts()));
  bool same_ids = true;
  if (reference.tokens && texts != nullptr) same_ids = add_ids(section, model, *texts, *reference.tokens);
  holds = same_ids;
  if (!reference.hidden.empty()) holds = add_hidden(section, model, reference) && holds;
  std::optional<Verdict> verdict;
  if (reference.embeddings && texts != nullptr) {
    const std::vector<std::string_view> views(texts->begin(), texts->end());
    const Tensor ours = model.embed(views);
    const Agreement agreement = compare(ours, *reference.embeddings);
    verdict = agreement.verdict();
    add_embeddings(section, agreement, *texts);
    section.add("verdict", name_of(*verdict), std::string(name_of(*verdict)));
    if (!agreement.agrees()) {
      holds = false;
      add_diagnosis(section, diagnose(model, *texts, ours, *reference.embeddings,
                                      same_ids ? nullptr : &*reference.tokens));
    }
  }
  if (verdict == Verdict::f16_noise) section.notes.push_back(half_precision(*reference.embeddings));
  section.add("holds", holds, "");
  if (holds) section.notes.emplace_back("Parity holds.");
  return section;
}

}  // namespace attend::doctor
