// Tests: what follows `is`.
#include <algorithm>

#include "chat/library.h"

namespace attend::chat {
namespace {

bool is_sequence(const Value& value) {
  const Sequence* const list = value.sequence();
  return value.text() != nullptr || value.dictionary() != nullptr || value.is_undefined() ||
         (list != nullptr && list->kind != SequenceKind::view);
}

bool is_iterable(const Value& value) {
  return is_sequence(value) || value.sequence() != nullptr || value.is<std::shared_ptr<Stream>>() ||
         value.is<std::shared_ptr<const Loop>>();
}

std::int64_t divided_rest(const Value& value, std::int64_t by) {
  const Value rest = [&] {
    Budget budget;
    return arithmetic("%", value, by, budget);
  }();
  return rest.is<double>() ? (rest.number() != 0 ? 1 : 0) : rest.integer();
}

// Whether letters are there, and all of one case.
bool has_only_case(const Value& value, Case wanted, Budget& budget) {
  const Text text = str(value, budget);
  return with_case(text, wanted).bytes == text.bytes &&
         with_case(text, wanted == Case::upper ? Case::lower : Case::upper).bytes != text.bytes;
}

using A = Arguments;
constexpr Test kTests[] = {
    {"!=", 1, [](const Value& v, const A& a, Budget& b) { return !equal(v, a.values[0], b); }},
    {"==", 1, [](const Value& v, const A& a, Budget& b) { return equal(v, a.values[0], b); }},
    {"boolean", 0, [](const Value& v, const A&, Budget&) { return v.is<bool>(); }},
    {"callable", 0,
     [](const Value& v, const A&, Budget&) {
       return v.is<Function>() || v.is<const Statement*>() || v.is<std::shared_ptr<const Method>>();
     }},
    {"defined", 0, [](const Value& v, const A&, Budget&) { return !v.is_undefined(); }},
    {"divisibleby", 1,
     [](const Value& v, const A& a, Budget&) {
       return divided_rest(v, whole(a.values[0], "divisibleby")) == 0;
     }},
    {"eq", 1, [](const Value& v, const A& a, Budget& b) { return equal(v, a.values[0], b); }},
    {"equalto", 1, [](const Value& v, const A& a, Budget& b) { return equal(v, a.values[0], b); }},
    {"even", 0, [](const Value& v, const A&, Budget&) { return divided_rest(v, 2) == 0; }},
    {"false", 0, [](const Value& v, const A&, Budget&) { return v.is<bool>() && !v.truth(); }},
    {"float", 0, [](const Value& v, const A&, Budget&) { return v.is<double>(); }},
    {"ge", 1, [](const Value& v, const A& a, Budget& b) { return compare(v, a.values[0], b) >= 0; }},
    {"greaterthan", 1, [](const Value& v, const A& a, Budget& b) { return compare(v, a.values[0], b) > 0; }},
    {"gt", 1, [](const Value& v, const A& a, Budget& b) { return compare(v, a.values[0], b) > 0; }},
    {"in", 1, [](const Value& v, const A& a, Budget& b) { return contains(a.values[0], v, b); }},
    {"integer", 0, [](const Value& v, const A&, Budget&) { return v.is<std::int64_t>(); }},
    {"iterable", 0, [](const Value& v, const A&, Budget&) { return is_iterable(v); }},
    {"le", 1, [](const Value& v, const A& a, Budget& b) { return compare(v, a.values[0], b) <= 0; }},
    {"lessthan", 1, [](const Value& v, const A& a, Budget& b) { return compare(v, a.values[0], b) < 0; }},
    {"lower", 0, [](const Value& v, const A&, Budget& b) { return has_only_case(v, Case::lower, b); }},
    {"lt", 1, [](const Value& v, const A& a, Budget& b) { return compare(v, a.values[0], b) < 0; }},
    {"mapping", 0, [](const Value& v, const A&, Budget&) { return v.dictionary() != nullptr; }},
    {"ne", 1, [](const Value& v, const A& a, Budget& b) { return !equal(v, a.values[0], b); }},
    {"none", 0, [](const Value& v, const A&, Budget&) { return v.is_none(); }},
    {"number", 0, [](const Value& v, const A&, Budget&) { return v.is_number(); }},
    {"odd", 0, [](const Value& v, const A&, Budget&) { return divided_rest(v, 2) == 1; }},
    {"sequence", 0, [](const Value& v, const A&, Budget&) { return is_sequence(v); }},
    {"string", 0, [](const Value& v, const A&, Budget&) { return v.text() != nullptr; }},
    {"true", 0, [](const Value& v, const A&, Budget&) { return v.is<bool>() && v.truth(); }},
    {"undefined", 0, [](const Value& v, const A&, Budget&) { return v.is_undefined(); }},
    {"upper", 0, [](const Value& v, const A&, Budget& b) { return has_only_case(v, Case::upper, b); }},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kTests), std::end(kTests), [&](const Test& test) { return test.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace attend::chat
