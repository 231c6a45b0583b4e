#include "learn/pair_file.h"

#include <attend/file_error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "io/fail.h"
#include "io/json_reader.h"
#include "io/open_file.h"
#include "io/utf8.h"

namespace attend::learn {
namespace {

constexpr std::size_t kMostPairBytes = std::size_t{1} << 30;

enum Part : std::size_t { kFirst, kSecond, kScore, kParts };
constexpr std::array<std::pair<std::string_view, Part>, 11> kNames = {{{"sentence1", kFirst},
                                                                       {"sentence2", kSecond},
                                                                       {"score", kScore},
                                                                       {"anchor", kFirst},
                                                                       {"positive", kSecond},
                                                                       {"text1", kFirst},
                                                                       {"text2", kSecond},
                                                                       {"label", kScore},
                                                                       {"first", kFirst},
                                                                       {"second", kSecond},
                                                                       {"similarity", kScore}}};

std::optional<Part> part_named(std::string_view name) {
  for (const auto& [known, part] : kNames) {
    if (known == name) return part;
  }
  return {};
}

// The parts of a pair, as one line has them.
struct Row {
  std::optional<std::string> texts[2];
  std::optional<double> score;
};

class Reader {
 public:
  Reader(const std::filesystem::path& file, double score_max) : file_(file.string()), score_max_(score_max) {
    const std::string kind = file.extension().string();
    if (kind != ".tsv" && kind != ".jsonl") {
      throw FileError(file_, "", "is neither a .tsv nor a .jsonl file, the two formats of pairs");
    }
    json_ = kind == ".jsonl";
  }

  PairFile read(std::string_view rest) {
    if (rest.starts_with("\xEF\xBB\xBF"))
      rest.remove_prefix(3);  // the byte order mark that some editors write
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view text = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++line_;
      if (text.ends_with('\r')) text.remove_suffix(1);
      if (text.find_first_not_of(" \t") == text.npos) continue;
      if (!io::is_utf8(text)) wrong("is not UTF-8");
      if (json_) {
        add(json_row(text));
      } else if (!std::exchange(begun_, true) && is_header(text)) {
        continue;
      } else {
        add(tab_row(text));
      }
    }
    if (result_.pairs.empty()) throw FileError(file_, "", "has no pairs");
    return std::move(result_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... rule) const {
    throw FileError(file_, joined("line ", line_), joined(rule...));
  }

  static std::vector<std::string_view> columns_of(std::string_view text) {
    std::vector<std::string_view> columns;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\t', begin), text.size());
      columns.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return columns;
  }

  // Whether these are column names, which then say where everything is.
  bool is_header(std::string_view text) {
    std::array<std::size_t, kParts> found;
    found.fill(kNowhere);
    const std::vector<std::string_view> columns = columns_of(text);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::optional<Part> part = part_named(columns[i]);
      if (part && found[*part] == kNowhere) found[*part] = i;
    }
    if (found[kFirst] == kNowhere || found[kSecond] == kNowhere) return false;
    places_ = found;
    header_ = true;
    return true;
  }

  Row tab_row(std::string_view text) const {
    const std::vector<std::string_view> columns = columns_of(text);
    if (!header_ && (columns.size() < 2 || columns.size() > 3)) {
      wrong("has ", columns.size(), columns.size() == 1 ? " column" : " columns",
            ", expected two sentences and perhaps a score, separated by tabs");
    }
    const auto at = [&](Part part) -> std::optional<std::string_view> {
      const std::size_t place = places_[part];
      if (place == kNowhere) return {};
      if (place < columns.size()) return columns[place];
      if (header_) wrong("has ", columns.size(), " columns, fewer than the first line names");
      return {};
    };
    Row row;
    for (const Part part : {kFirst, kSecond}) row.texts[part] = std::string(*at(part));
    if (const auto word = at(kScore)) {
      double value = 0;
      const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), value);
      if (error != std::errc() || end != word->data() + word->size())
        wrong('"', io::shown(*word), "\" is not a score, expected a number");
      row.score = value;
    }
    return row;
  }

  Row json_row(std::string_view text) const {
    std::string own(text);
    Row row;
    try {
      io::JsonReader json(file_, own);
      json.object("", [&](std::string_view name) {
        const std::optional<Part> part = part_named(name);
        if (!part) {
          json.skip(name);
        } else if (*part == kScore) {
          if (!json.null()) row.score = json.number(name);
        } else {
          row.texts[*part] = std::string(json.string(name));
        }
      });
      json.end();
    } catch (const FileError& error) {
      wrong(error.where().empty() ? "" : error.where() + ": ", error.rule());
    }
    for (const Part part : {kFirst, kSecond}) {
      if (row.texts[part]) continue;
      wrong("has no ", part == kFirst ? "sentence1 (or anchor, text1, first)"
                                      : "sentence2 (or positive, text2, second)");
    }
    return row;
  }

  void add(Row row) {
    for (const auto& text : row.texts) {
      if (text->find_first_not_of(" \t") == text->npos) wrong("has an empty sentence");
    }
    const bool scored = row.score.has_value();
    if (result_.pairs.empty()) result_.scored = scored;
    if (scored != result_.scored) {
      wrong(scored ? "has a score" : "has no score", ", but line ", result_.pairs.front().line,
            scored ? " has none" : " has one", "; either all pairs have one, or none");
    }
    const double score = scored ? *row.score / score_max_ : 0;
    if (!std::isfinite(score)) wrong("its score is not a number");
    if (std::abs(score) > 1) {
      wrong("its score ", *row.score, " is not from ", -score_max_, " to ", score_max_,
            "; scores are divided by data.score_max, the largest that a score can be");
    }
    result_.pairs.push_back({std::move(*row.texts[0]), std::move(*row.texts[1]), score, line_});
  }

  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::string file_;
  double score_max_;
  bool json_ = false, begun_ = false, header_ = false;
  std::array<std::size_t, kParts> places_{0, 1, 2};  // of the columns
  std::int64_t line_ = 0;
  PairFile result_;
};

}  // namespace

PairFile read_pairs(const std::filesystem::path& file, double score_max) {
  Reader reader(file, score_max);  // which first looks at the name
  const io::FileText text = io::read_text(io::InputFile(file.string()), kMostPairBytes);
  return reader.read({text.span().data(), text.span().size()});
}

PairFile parse_pairs(std::string_view text, const std::filesystem::path& file, double score_max) {
  return Reader(file, score_max).read(text);
}

}  // namespace attend::learn
