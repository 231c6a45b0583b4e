// From tokens to words: the sum over the tokens of a key, the mean over those of a query.
#include <attend/lens.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "lens/flow.h"
#include "lens/lens_rows.h"
#include "lens/rollout.h"

namespace attend {
namespace {

std::vector<std::int64_t> tokens_between(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(last - first));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

void add_units(std::span<const double> tokens, std::span<const Word> words, double scale, double* out) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    double sum = 0;
    for (std::int64_t t = words[w].first_token; t < words[w].last_token; ++t)
      sum += tokens[static_cast<std::size_t>(t)];
    out[w] += scale * sum;
  }
}

double share_of_token(const Word& word) {
  return 1.0 / static_cast<double>(word.last_token - word.first_token);
}

}  // namespace

std::vector<Word> single_tokens(const Reading& reading) {
  std::vector<Word> units;
  for (const Word& word : reading.words()) {
    for (std::int64_t t = word.first_token; t < word.last_token; ++t) {
      const auto token = static_cast<std::size_t>(t);
      units.push_back({.text = std::string(reading.token_name(t)),
                       .place = reading.tokens().offsets[token],
                       .first_token = t,
                       .last_token = t + 1,
                       .part = word.part,
                       .special = word.special,
                       .unknown = reading.is_unknown(t)});
    }
  }
  return units;
}

std::vector<double> lens_row(const Reading& reading, const LensQuery& query, std::span<const Word> units,
                             std::size_t unit) {
  if (unit >= units.size())
    refuse("lens", "unit is ", unit, ", but there are ", units.size(), ", counted from 0");
  if (query.method == LensMethod::flow) return lens::flow_row(reading, query, units, unit);
  const Word& word = units[unit];
  const auto n = static_cast<std::size_t>(reading.size());
  std::vector<double> row(units.size());
  if (query.method == LensMethod::rollout) {
    const HeadChoice last{.layer = lens::path_layers(reading, query)};
    std::vector<double> tokens(n);
    for (std::int64_t t = word.first_token; t < word.last_token; ++t)
      tokens[static_cast<std::size_t>(t)] = share_of_token(word);
    lens::roll_out(reading, last, tokens);
    add_units(tokens, units, 1, row.data());
    return row;
  }
  lens::for_each_row(reading, query, tokens_between(word.first_token, word.last_token),
                     [&](std::size_t, std::span<const double> tokens) {
                       add_units(tokens, units, share_of_token(word), row.data());
                     });
  return row;
}

std::vector<Word> stretches_of(std::span<const Word> units, std::size_t count) {
  if (count == 0) refuse("lens", "a stretch of 0 units has no tokens");
  std::vector<Word> stretches;
  std::size_t first = 0;  // of the last stretch
  for (std::size_t u = 0; u < units.size(); ++u) {
    const Word& unit = units[u];
    const bool apart = stretches.empty() || u - first == count || unit.special || stretches.back().special ||
                       unit.part != stretches.back().part;
    if (apart) {
      stretches.push_back(unit);
      first = u;
      continue;
    }
    stretches.back().text = joined(units[first].text, " … ", unit.text);
    stretches.back().place.end = unit.place.end;
    stretches.back().last_token = unit.last_token;
    stretches.back().unknown = stretches.back().unknown || unit.unknown;
  }
  return stretches;
}

namespace {

// The rows of a path through several layers are found together.
void each_rolled_row(const Reading& reading, const LensQuery& query, std::span<const Word> units,
                     const std::function<void(std::size_t, std::span<const double>)>& take) {
  const HeadChoice last{.layer = lens::path_layers(reading, query)};
  if (reading.size() > kMostRolloutTokens) {
    refuse("lens", "the text has ", reading.size(),
           " tokens, but rollout of every row takes n³ steps and allows up to ", kMostRolloutTokens,
           "; choose one word to look at closely");
  }
  const auto n = static_cast<std::size_t>(reading.size());
  std::vector<double> rows(units.size() * n);
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (std::int64_t t = units[u].first_token; t < units[u].last_token; ++t)
      rows[u * n + static_cast<std::size_t>(t)] = share_of_token(units[u]);
  }
  lens::roll_out(reading, last, rows);
  std::vector<double> row(units.size());
  for (std::size_t u = 0; u < units.size(); ++u) {
    std::fill(row.begin(), row.end(), 0.0);
    add_units(std::span(rows).subspan(u * n, n), units, 1, row.data());
    take(u, row);
  }
}

}  // namespace

void lens_each_row(const Reading& reading, const LensQuery& query, std::span<const Word> units,
                   const std::function<void(std::size_t unit, std::span<const double> row)>& take) {
  if (query.method == LensMethod::flow)
    refuse("lens", "flow is found for one word at a time; choose one to look at closely");
  if (query.method == LensMethod::rollout) {
    each_rolled_row(reading, query, units, take);
    return;
  }
  if (units.empty()) return;
  std::vector<double> sum(units.size());
  std::size_t unit = 0;
  std::vector<std::int64_t> tokens;  // those of the units: a text may have others
  for (const Word& word : units) {
    for (std::int64_t t = word.first_token; t < word.last_token; ++t) tokens.push_back(t);
  }
  lens::for_each_row(reading, query, tokens, [&](std::size_t place, std::span<const double> row) {
    add_units(row, units, share_of_token(units[unit]), sum.data());
    if (tokens[place] + 1 < units[unit].last_token) return;
    take(unit++, sum);
    std::fill(sum.begin(), sum.end(), 0.0);
  });
}

Tensor lens_map(const Reading& reading, const LensQuery& query, std::span<const Word> units) {
  const auto count = static_cast<std::int64_t>(units.size());
  Tensor map(DType::f64, {count, count});
  double* const out = map.values<double>().data();
  lens_each_row(reading, query, units, [&](std::size_t unit, std::span<const double> row) {
    std::copy(row.begin(), row.end(), out + unit * units.size());
  });
  return map;
}

double special_share(std::span<const double> row, std::span<const Word> units) {
  double share = 0;
  for (std::size_t u = 0; u < units.size(); ++u) share += units[u].special ? row[u] : 0;
  return share;
}

std::vector<double> without_special(std::span<const double> row, std::span<const Word> units) {
  std::vector<double> kept;
  double sum = 0;
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (units[u].special) continue;
    kept.push_back(row[u]);
    sum += row[u];
  }
  for (double& value : kept) value = value == 0 ? 0 : value / sum;
  return kept;
}

}  // namespace attend
