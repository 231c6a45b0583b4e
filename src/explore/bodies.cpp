#include "explore/bodies.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/error.h"
#include "http/message.h"
#include "io/json_reader.h"

namespace attend::explore {
namespace {

constexpr std::size_t kMostEdits = 256;

[[noreturn]] void refuse_body(const std::string& sentence) { throw http::RequestError(400, sentence); }

// An object of strings and lists of strings, each key once. A key that is not used is an error.
class Fields {
 public:
  explicit Fields(std::string_view body) {
    try {
      read(body);
    } catch (const io::JsonSyntaxError& error) {
      refuse_body(joined("the body is not JSON: ", error.sentence()));
    } catch (const FileError& error) {
      refuse_body(error.what());
    }
  }

  std::optional<std::string> text(const char* name) {
    const auto found = texts_.extract(name);
    if (found.empty()) return std::nullopt;
    return std::move(found.mapped());
  }
  std::string required_text(const char* name) {
    std::optional<std::string> found = text(name);
    if (!found) refuse_body(joined("the body has no text \"", name, "\""));
    if (std::all_of(found->begin(), found->end(), [](unsigned char c) { return std::isspace(c) != 0; }))
      refuse_body(std::string_view(name) == "word" ? "no word is given" : "the text is empty");
    return std::move(*found);
  }
  std::vector<std::string> required_list(const char* name) {
    const auto found = lists_.extract(name);
    if (found.empty()) refuse_body(joined("the body has no list \"", name, "\""));
    return std::move(found.mapped());
  }
  void require_all_used() const {
    if (!texts_.empty() || !lists_.empty()) refuse_body("the body has a key that is not used here");
  }

 private:
  void read(std::string_view body) {
    std::string text(body);
    io::JsonReader json("the body", text);
    if (json.kind() != io::JsonKind::object) refuse_body("the body is not a JSON object");
    json.object("", [&](std::string_view key) {
      const std::string name(key);
      if (json.null()) return;  // as if it were not there
      if (json.kind() == io::JsonKind::string) {
        texts_.emplace(name, json.string(key));
      } else if (json.kind() == io::JsonKind::array) {
        lists_.emplace(name, strings_of(json));
      } else {
        refuse_body("the body holds something that is neither text nor a list of texts");
      }
    });
    json.end();
  }

  static std::vector<std::string> strings_of(io::JsonReader& json) {
    std::vector<std::string> list;
    json.array("", [&] {
      if (json.kind() != io::JsonKind::string) refuse_body("a list holds something that is not text");
      if (list.size() == kMostEdits) refuse_body(joined("a list has more than ", kMostEdits, " entries"));
      list.emplace_back(json.string(""));
    });
    return list;
  }

  std::map<std::string, std::string, std::less<>> texts_;
  std::map<std::string, std::vector<std::string>, std::less<>> lists_;
};

}  // namespace

ReadBody parse_read(std::string_view body) {
  Fields fields(body);
  ReadBody read{.text = fields.required_text("text"),
                .second = fields.text("second").value_or(""),
                .model = fields.text("model")};
  fields.require_all_used();
  return read;
}

ChangeBody parse_change(std::string_view body) {
  Fields fields(body);
  ChangeBody change{.edits = fields.required_list("edits")};
  fields.require_all_used();
  return change;
}

CompareBody parse_compare(std::string_view body) {
  Fields fields(body);
  CompareBody compare{.first = fields.required_text("first"),
                      .second = fields.required_text("second"),
                      .word = fields.required_text("word"),
                      .model = fields.text("model")};
  fields.require_all_used();
  return compare;
}

}  // namespace attend::explore
