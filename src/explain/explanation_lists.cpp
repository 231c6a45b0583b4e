#include "explain/explanation_lists.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/largest_first.h"
#include "draw/number.h"
#include "draw/text_width.h"
#include "explain/phrases.h"

namespace attend::explain {
namespace {

std::string four_decimals(double value) { return draw::format_number(value, {.decimals = 4}); }

ListPart guesses_part(const Reading& reading, const Explanation& explanation) {
  draw::Bars bars;
  bars.title = "What the model expects there";
  for (const TokenGuess& guess : explanation.guesses) {
    const std::string word = reading.model().tokenizer().decode(std::span(&guess.token, 1), false);
    bars.bars.push_back({draw::printable(word), guess.probability, bars.bars.empty()});
  }
  return {std::move(bars), {}};
}

ListPart links_part(const Reading& reading, std::string title, const std::vector<HeadLink>& links,
                    std::size_t most) {
  draw::Table table;
  table.title = std::move(title);
  table.columns = {{"layer"}, {"head"}, {"weight"}, {"share of words"}};
  for (std::size_t i = 0; i < std::min(most, links.size()); ++i) {
    const HeadLink& link = links[i];
    table.rows.push_back({"",
                          {reading.layer_name(link.layer), name_of_head(reading, link.layer, link.head),
                           four_decimals(link.weight), four_decimals(link.share)}});
  }
  return {std::move(table), {}};
}

std::string relation_title(const Reading& reading, const Relation& relation) {
  const std::vector<std::string> labels = labels_of(reading.words());
  std::string pairs;
  for (const WordRelation& pair : relation.pairs) {
    pairs.append(pairs.empty() ? "" : ", ");
    pairs.append(in_quotes(labels[pair.from])).append(" to ").append(in_quotes(labels[pair.to]));
  }
  const std::string name = draw::shorten(draw::printable(relation.name), 40);
  return joined("Which heads link ", name, relation.pairs.size() > 1 ? ", the mean of " : ": ", pairs);
}

ListPart profiles_part(const Reading& reading, const std::vector<HeadProfile>& profiles) {
  draw::Table table;
  table.title = "What each head does with this text";
  table.columns = {{"layer"},   {"head"},   {"previous"},
                   {"next"},    {"itself"}, {"same word"},
                   {"special"}, {"broad"},  {"habit", draw::Align::left}};
  // Of a model that writes: what comes after a token is not seen, and what came before may come again.
  const bool writes = reading.is_causal();
  if (writes) {
    table.columns[3] = {"first"};
    table.columns[6] = {"duplicate"};
    table.columns.insert(table.columns.begin() + 7, {"induction"});
  }
  for (const HeadProfile& profile : profiles) {
    std::vector<std::string> cells = {
        reading.layer_name(profile.layer), name_of_head(reading, profile.layer, profile.head),
        percent(profile.previous),         percent(writes ? profile.first : profile.next),
        percent(profile.same_token),       percent(profile.same_word)};
    if (writes) {
      cells.push_back(percent(profile.duplicate));
      cells.push_back(percent(profile.induction));
    } else {
      cells.push_back(percent(profile.separator));
    }
    cells.push_back(percent(profile.broad));
    cells.emplace_back(habit_of(profile));
    table.rows.push_back({"", std::move(cells)});
  }
  std::string legend =
      "Shares of the weight, averaged over the tokens of the text; broad: how evenly it is spread, from one "
      "token (0%) to all alike (100%).";
  if (heads_of_a_group(reading) > 1) legend += " Heads with the same keys share keys and values.";
  return {std::move(table), std::move(legend)};
}

ListPart change_part(const Reading& reading, const ExplainRequest& request, const OutputChange& change) {
  std::string title;
  for (const std::string& edit : request.ablate)
    title.append(title.empty() ? "" : ", ").append(name_of_edit(reading, edit));
  if (!title.empty()) title.front() = static_cast<char>(title.front() - 'a' + 'A');
  std::vector<std::size_t> order;
  for (std::size_t w = 0; w < reading.words().size(); ++w) order.push_back(w);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return larger_first(-change.word_cosines[a], -change.word_cosines[b]);
  });
  const std::vector<std::string> labels = labels_of(reading.words());
  draw::Table table;
  table.title = std::move(title);
  table.label_header = "word";
  table.columns = {{"cosine, before and after"}};
  for (std::size_t i = 0; i < std::min(order.size(), request.top); ++i)
    table.rows.push_back({labels[order[i]], {four_decimals(change.word_cosines[order[i]])}});
  return {std::move(table),
          joined("The vector of the text moves by ", percent(change.text_distance),
                 " of its length; the cosine with what it was is ", four_decimals(change.text_cosine), ".")};
}

}  // namespace

std::vector<ListPart> list_parts(const Reading& reading, const ExplainRequest& request,
                                 const Explanation& explanation) {
  std::vector<ListPart> parts;
  if (!explanation.guesses.empty()) parts.push_back(guesses_part(reading, explanation));
  if (!explanation.links.empty()) {
    parts.push_back(links_part(
        reading, joined("Which heads link ", in_quotes(*request.focus), " to ", in_quotes(*request.to)),
        explanation.links, request.top));
  }
  for (const RelationHeads& one : explanation.relations)
    parts.push_back(links_part(reading, relation_title(reading, one.relation), one.links, request.top));
  if (!explanation.profiles.empty()) parts.push_back(profiles_part(reading, explanation.profiles));
  if (explanation.change) parts.push_back(change_part(reading, request, *explanation.change));
  return parts;
}

}  // namespace attend::explain
