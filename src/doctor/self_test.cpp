// Whether this machine computes correctly: one text, every instruction set, one and two threads.
#include <attend/isa.h>
#include <attend/lens.h>
#include <attend/reference.h>
#include <attend/threads.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "doctor/finite_weights.h"
#include "doctor/sections.h"
#include "draw/number.h"

namespace attend::doctor {
namespace {

constexpr std::string_view kText = "The animal didn't cross the street because it was too tired.";
// Relative to a vector's largest number. Rounding in a different order gives 1e-6 in a model of twelve
// layers.
constexpr double kBetweenIsas = 2e-5;
constexpr double kAgainstFloat64 = 1e-5;

// Restores what the environment chose. Not by its name: isa() has that for f32, which leaves out what only
// other precisions use.
class SettingsKept {
 public:
  SettingsKept() : isa_(isa()), threads_(threads()) {}
  ~SettingsKept() {
    set_isa("");
    set_threads(threads_);
  }
  SettingsKept(const SettingsKept&) = delete;
  SettingsKept& operator=(const SettingsKept&) = delete;
  const std::string& isa_in_use() const { return isa_; }

 private:
  std::string isa_;
  int threads_;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  const auto x = a.values<float>(), y = b.values<float>();
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size_bytes()) == 0;
}

double difference(const Tensor& a, const Tensor& b) {
  double largest = 0, size = 0;
  const auto x = a.values<float>(), y = b.values<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<double>(y[i]);
    const double off = std::abs(static_cast<double>(x[i]) - value);
    if (!(off <= largest)) largest = off;  // NaN counts as the largest
    size = std::max(size, std::abs(value));
  }
  return size > 0 ? largest / size : largest;
}

// How far the attention of the first layer is from float64, given the same queries, keys and values.
double attention_error(const TextModel& model) {
  const Encoding tokens = model.encode(kText);
  TokenBatch batch;
  batch.add(tokens.ids, tokens.type_ids);
  double largest = 0;
  model.transformer().forward(
      batch,
      [&](const LayerMoment& moment) {
        if (moment.layer != 1) return;
        Tensor exact(DType::f64, moment.attended.shape());
        reference::attention(moment.q, moment.k, moment.v, moment.options, exact);
        const Tensor ours = copy_of(moment.attended, DType::f64);
        for (std::size_t i = 0; i < exact.values<double>().size(); ++i) {
          const double off = std::abs(ours.values<double>()[i] - exact.values<double>()[i]);
          if (!(off <= largest)) largest = off;
        }
      },
      1);
  return largest;
}

void add_not_finite(Section& section, const TextModel& model) {
  const attend::Reading reading(model, std::string(kText), "", {.keep = Keep::last_state});
  const std::string where = reading.not_finite() ? sentence_of(reading, *reading.not_finite())
                                                 : "The layers after pooling give NaN or infinity.";
  section.add("passed", false, "");
  section.add("not_finite", where, "");
  section.notes.push_back("FAILED: " + where + " Why: " + cause_of_not_finite(model.files()) + ".");
}

}  // namespace

Section self_test_section(const TextModel& model, bool& passed) {
  Section section{"self_test", "Self test: \"" + std::string(kText) + "\""};
  const SettingsKept kept;
  const std::vector<std::string_view> text{kText};
  set_threads(1);
  const Tensor first = model.embed(text);
  if (!std::ranges::all_of(first.values<float>(), [](float value) { return std::isfinite(value); })) {
    passed = false;
    add_not_finite(section, model);
    return section;
  }
  Json isas = Json::array();
  bool all = true;
  double exactness = 0;
  draw::Table table{.title = "",
                    .label_header = "instruction set",
                    .columns = {{"1 and 2 threads", draw::Align::left},
                                {"from " + kept.isa_in_use()},
                                {"layer 1's attention from float64"}},
                    .rows = {}};
  for (const std::string& name : available_isas()) {
    set_isa(name);
    set_threads(1);
    const Tensor alone = model.embed(text);
    const double error = attention_error(model);
    set_threads(2);
    const bool same = same_bits(model.embed(text), alone);
    const double apart = difference(alone, first);
    exactness = std::max(exactness, error);
    all = all && same && apart <= kBetweenIsas && error <= kAgainstFloat64;
    isas.push_back({{"isa", name}, {"same_bits", same}, {"difference", apart}, {"attention_error", error}});
    table.rows.push_back({name,
                          {same ? "same bits" : "DIFFERENT BITS", draw::format_short(apart, 2),
                           draw::format_short(error, 2)}});
  }
  section.add("passed", all, "");
  section.add("isas", std::move(isas), "");
  section.tables.push_back(std::move(table));
  section.notes.push_back(
      all ? "Passed: the same bits with 1 and 2 threads; instruction sets differ by rounding only."
          : "FAILED: differences beyond rounding. Please report it, with this output.");
  passed = all;
  return section;
}

}  // namespace attend::doctor
