// The answer to "what did attention do with this text?", as data: a map between words or tokens, one row of
// it in detail, and what the heads do.
#pragma once

#include <attend/lens.h>
#include <attend/lens_change.h>
#include <attend/lens_heads.h>
#include <attend/lens_notable.h>
#include <attend/lens_sink.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attend::explain {

struct ExplainRequest {
  LensQuery query{};
  bool tokens = false;                      // between tokens, not words
  bool special = false;                     // with [CLS], [SEP] and the like
  SinkChoice sink = SinkChoice::automatic;  // whether the first token of a model that writes is left out
  std::optional<std::string> focus{};
  std::optional<std::string> to{};  // which heads link the focus to this word?
  bool heads = false;               // what does each head do?
  bool same_scale = false;          // colour all maps of a view of heads by one scale, not each by its own
  // Which heads link such words? "subject-verb:cat>sat,dog>ran", or "cat>sat" without a name. A comma
  // separates pairs where another > follows.
  std::vector<std::string> relations{};
  std::vector<std::string>
      ablate{};         // how does the output change without these? In the form that parse_edit() reads
  std::size_t top = 8;  // lines of a list
  std::string goal = "brought the texts together";  // what attention did where the gradient is positive
  bool guesses = false;                             // what does the model expect at guessed_place()?
  std::optional<NotableHead> chosen{};              // the head of `query`, where the text chose it
  std::string special_option = "--special";         // the option that shows special tokens; empty: none
  std::string sink_option = "--sink keep";          // the option that shows the first token
};

// Whether a word's row holds shares that add up to 1. For grad a row is normalised by what helped in it, and
// the map by all that helped.
constexpr bool adds_up(LensMethod method) { return method != LensMethod::flow; }

// A word's row by one method: raw is where it looks, norm what it takes.
struct FocusRow {
  LensMethod method = LensMethod::raw;
  std::vector<double> values;  // over the units of the map
  double special = 0;          // the share of special tokens, which are omitted unless requested
  double sink = 0;             // the share of the first token where that is left out
};

struct Focus {
  std::size_t unit = 0;  // of the map
  std::vector<FocusRow> rows;
};

// The largest values of each unit's row, largest first: what a map of stretches cannot show.
struct TopOfRows {
  std::int64_t count = 0;           // per row
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

// What rests on the first token, and what the map did with it.
struct Sink {
  FirstToken token;
  bool folded = false;   // left out of the map
  double map_share = 0;  // of the rows of the map, on average; where folded
};

// A text that is longer than one pass, read in windows that overlap. Units and tokens count through the whole
// text, without special tokens.
struct Windows {
  std::string text;
  std::int64_t words = 0, dropped = 0;  // dropped: tokens at the end, which were not asked for
  std::vector<std::int32_t> ids;        // of all tokens
  std::vector<TokenRange> ranges;       // of each window
  std::int64_t window_tokens = 0;       // of the largest, special tokens included
};

struct Explanation {
  std::vector<Word> units;  // words or tokens that are shown
  std::vector<Word>
      map_units;  // rows and columns of the map: the units, or stretches of them if there are many
  Tensor map;     // (map_units, map_units), f64; empty where the method computes one row at a time
  std::optional<TopOfRows> top;  // when the map is one of stretches
  std::vector<Word> left_out;    // special tokens that are not in the map
  double special_share = 0;      // of the rows of the map, on average
  std::optional<Sink> sink;      // of a model that writes
  std::vector<double> received;  // by each unit: its share of the attention of all tokens, on average
  std::optional<Focus> focus;
  std::vector<NotableHead> notable;  // heads worth seeing, the best first; of weights and norms
  std::vector<HeadLink> links;       // every head, strongest first
  std::vector<RelationHeads> relations;
  std::vector<HeadProfile> profiles;   // every head, in order
  std::optional<OutputChange> change;  // caused by all edits together
  std::vector<TokenGuess> guesses;     // likeliest first
  std::optional<Windows> windows;      // of a text that was not read in one pass
};

// A text of more units than this gets a map of stretches of them.
inline constexpr std::size_t kMostMapUnits = 1024;

// The only layer that an answer needs, if there is just one: a Reading of it takes less time and memory.
std::optional<std::int64_t> only_layer_of(const ExplainRequest& request);

// Has a request that names no head ask for the one that says most about the text, where one stands out and
// the method can show it.
void choose_head(const Reading& reading, ExplainRequest& request);

// Throws std::invalid_argument for a layer, a head or a word that does not exist.
Explanation explain(const Reading& reading, const ExplainRequest& request);

// The map alone, as in Explanation.
Tensor explain_map(const Reading& reading, const ExplainRequest& request);

// A sentence that says where numbers stopped being finite, in the text as it is or, after "With the edits: ",
// with the edits; empty where all are finite.
std::string not_finite_note(const Reading& reading, const Explanation& explanation);

// For programs, as JSON. For people there are explanation_figure.h and explanation_terminal.h.
std::string explanation_json(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation);

// For programs, as arrays in a file, .npz or .safetensors: weights (units, units), spans (units, 2) of tokens
// and places (units, 2) of characters, special (units), received (units), ids (tokens), and for the focus one
// row for each method. For a model that writes: sink (2), the share of the first token and whether it is left
// out. For a text too long for a map of its units: weights (stretches, stretches), stretches
// (stretches, 2) of tokens, and the largest values of each unit's row, top_units and top_values (units,
// count). What was asked for besides: links_weight and links_share (layers, heads) for `to`, the same as
// relation_1_..., relation_2_... for relations, heads_previous and the other habits (layers, heads), and of
// edits change_text (2), the cosine and the distance, change_words (words, 2) of tokens and
// change_word_cosines (words); guess_ids and guess_probabilities. format: npz or safetensors.
void save_arrays(const Reading& reading, const Explanation& explanation, const std::filesystem::path& file,
                 std::string_view format);

}  // namespace attend::explain
