#include "app/unknown_words.h"

#include <algorithm>

#include "app/output.h"
#include "base/error.h"
#include "checkpoint/known_models.h"
#include "draw/printable.h"
#include "draw/prose.h"
#include "draw/text_width.h"

namespace attend::app {
namespace {

constexpr std::size_t kMostNamed = 3;
constexpr std::int64_t kFewWords = 2000;  // the vocabulary of a task, not of a language
constexpr int kLongestName = 24;

std::string shown_word(std::string_view word) {
  return draw::in_quotes(draw::shorten(draw::printable(word), kLongestName));
}

// “人”, “工” and 3 more
std::string named(const std::vector<std::string>& words) {
  std::string list;
  const std::size_t shown = std::min(words.size(), kMostNamed), more = words.size() - shown;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) list += i + 1 == shown && more == 0 ? " and " : ", ";
    list += shown_word(words[i]);
  }
  if (more > 0) list += joined(" and ", more, " more");
  return list;
}

// Whether a model that is on this machine has a token for everything in a text.
bool reads_all(std::string_view name, const std::string& text) {
  try {
    const Tokenizer tokenizer = Tokenizer::load(find_model(name));
    const std::vector<std::int32_t> ids =
        tokenizer.encode(text, {.add_special_tokens = false, .truncate = false}).ids;
    const std::optional<std::int32_t> unknown = tokenizer.unknown();
    return !unknown || std::ranges::find(ids, *unknown) == ids.end();
  } catch (const FileError&) {
    return false;  // it is not here
  }
}

}  // namespace

std::string model_that_reads(const TextModel& model, const std::string& text, bool for_vectors) {
  std::string sentence;
  const Tokenizer& tokenizer = model.tokenizer();
  if (tokenizer.vocabulary_size() <= kFewWords) {
    std::vector<std::string> words;
    for (std::int64_t id = 0; id < tokenizer.vocabulary_size() && words.size() < kMostNamed; ++id) {
      if (!tokenizer.is_special(id) && tokenizer.unknown() != id && !tokenizer.token(id).empty())
        words.emplace_back(tokenizer.token(id));
    }
    const std::string examples = words.empty() ? "" : ", such as " + named(words);
    sentence = joined("It knows only ", tokenizer.vocabulary_size(), " words", examples, ". ");
  }
  const std::string default_name(checkpoint::known_model(kDefaultModel)->name);
  if (model.files().name != kDefaultModel && model.files().name != default_name &&
      reads_all(kDefaultModel, text))
    return sentence + "-m " + default_name + " reads this text.";
  if (!for_vectors) sentence += joined("-m ", kDefaultWriter, " reads any text; ");
  return sentence + (for_vectors ? "A" : "a") +
         " multilingual model, such as intfloat/multilingual-e5-small, reads most languages.";
}

void warn_of_unknown(const TextModel& model, const std::string& text, std::span<const Word> words,
                     std::span<const std::int32_t> ids) {
  const std::optional<std::int32_t> token = model.tokenizer().unknown();
  const auto unknown = token ? std::ranges::count(ids, *token) : 0;
  if (unknown == 0) return;
  std::vector<std::string> names;
  for (const Word& word : words) {
    if (word.unknown && std::ranges::find(names, word.text) == names.end()) names.push_back(word.text);
  }
  const std::string name = draw::printable(model.files().name);
  const std::string what = unknown == std::ssize(ids) ? joined(name, " knows none of the words in this text")
                                                      : joined(name, " does not know ", unknown, " of the ",
                                                               ids.size(), " tokens of this text");
  say(joined(what, ": it reads ", model.tokenizer().token(*token), " in place of ", named(names), ". ",
             model_that_reads(model, text, false)));
}

void warn_of_unknown(const Reading& reading) {
  if (!reading.has_model()) return;
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < reading.tokens().size(); ++i) {
    if (reading.tokens().special[i] == 0) ids.push_back(reading.tokens().ids[i]);
  }
  const std::string text =
      reading.second().empty() ? reading.text() : reading.text() + "\n" + reading.second();
  warn_of_unknown(reading.model(), text, reading.words(), ids);
}

}  // namespace attend::app
