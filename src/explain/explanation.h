// The answer to "what did attention do with this text?", as data: a map between words or tokens, one row of
// it looked at closely, and what the heads do.
#pragma once

#include <attend/lens.h>
#include <attend/lens_change.h>
#include <attend/lens_heads.h>

#include <optional>
#include <string>
#include <vector>

namespace attend::explain {

struct ExplainRequest {
  LensQuery query{};
  bool tokens = false;   // between tokens, not words
  bool special = false;  // with [CLS], [SEP] and their like
  std::optional<std::string> focus{};
  std::optional<std::string> to{};  // which heads link the focus to this word?
  bool heads = false;               // what does each head do?
  // Which heads link such words? "subject-verb:cat>sat,dog>ran", or "cat>sat" without a name. A comma
  // separates pairs where another > follows.
  std::vector<std::string> relations{};
  std::vector<std::string>
      ablate{};         // and what becomes of the output without these? As parse_edit() reads them
  std::size_t top = 8;  // lines of a list
  std::string goal = "brought the texts together";  // what attention did where grad is positive
  bool guesses = false;                             // what does the model expect at guessed_place()?
  std::string special_option = "--special";         // what the reader writes to see special tokens
};

// Whether what a word's row shows are shares of 1. Of grad they are made so: a row is shown as shares of what
// helped in it, the map as shares of all that helped.
constexpr bool adds_up(LensMethod method) { return method != LensMethod::flow; }

// A word's row in one way of looking: raw is where it looks, norm what it takes.
struct FocusRow {
  LensMethod method = LensMethod::raw;
  std::vector<double> values;  // over the units of the map
  double special = 0;          // the share of special tokens, which are left out unless they are shown
};

struct Focus {
  std::size_t unit = 0;  // of the map
  std::vector<FocusRow> rows;
};

// Of each unit's row the largest, largest first: what a map of stretches cannot show.
struct TopOfRows {
  std::int64_t count = 0;           // of a row
  std::vector<std::int64_t> units;  // (units, count)
  std::vector<double> values;       // (units, count)
};

// A relation between words, such as subject and verb, given by pairs of words that have it.
struct Relation {
  std::string name;
  std::vector<WordRelation> pairs;
};

struct RelationHeads {
  Relation relation;
  std::vector<HeadLink> links;  // every head, strongest first
};

struct Explanation {
  std::vector<Word> units;  // words or tokens that are shown
  std::vector<Word>
      map_units;  // rows and columns of the map: those, or stretches of them where they are many
  Tensor map;     // (map_units, map_units), f64; none where the method has one row at a time
  std::optional<TopOfRows> top;  // where the map is one of stretches
  std::vector<Word> left_out;    // special tokens that are not in the map
  double special_share = 0;      // of the rows of the map, on average
  std::vector<double> received;  // by each unit, the mean over the tokens that look: of all their attention
  std::optional<Focus> focus;
  std::vector<HeadLink> links;  // every head, strongest first
  std::vector<RelationHeads> relations;
  std::vector<HeadProfile> profiles;   // every head, in order
  std::optional<OutputChange> change;  // by all that was taken away
  std::vector<TokenGuess> guesses;     // likeliest first
};

// A text of more units than this has a map of stretches of them.
inline constexpr std::size_t kMostMapUnits = 1024;

// The layer that an answer needs alone, if it needs one: a Reading of it takes less time and memory.
std::optional<std::int64_t> only_layer_of(const ExplainRequest& request);

// Throws std::invalid_argument for a layer, a head or a word that is not there.
Explanation explain(const Reading& reading, const ExplainRequest& request);

// The map alone, as in Explanation.
Tensor explain_map(const Reading& reading, const ExplainRequest& request);

// Where numbers stopped being finite, in the text as it is or, after "With the edits: ", without what was
// taken away: a sentence, empty where all are finite.
std::string not_finite_note(const Reading& reading, const Explanation& explanation);

// For programs. For people there are explanation_figure.h and explanation_terminal.h.
std::string explanation_json(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation);

}  // namespace attend::explain
