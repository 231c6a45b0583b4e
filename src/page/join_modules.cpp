#include "page/join_modules.h"

#include <cctype>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <vector>

namespace attend::page {
namespace {

[[noreturn]] void fail(std::string_view module, const std::string& what) {
  throw std::logic_error("[page] " + std::string(module) + ": " + what);
}

bool starts(std::string_view line, std::string_view with) { return line.substr(0, with.size()) == with; }

std::string_view between(std::string_view text, std::string_view left, std::string_view right) {
  const std::size_t begin = text.find(left);
  if (begin == text.npos) return {};
  const std::size_t end = text.find(right, begin + left.size());
  if (end == text.npos) return {};
  return text.substr(begin + left.size(), end - begin - left.size());
}

class Joiner {
 public:
  explicit Joiner(const std::function<std::string_view(std::string_view)>& read) : read_(read) {}

  void add(const std::string& module) {
    const auto [state, first] = states_.try_emplace(module, State::open);
    if (!first) {
      if (state->second == State::open) fail(module, "imports itself through other modules");
      return;
    }
    std::string_view text = read_(module);
    if (text.empty()) fail(module, "is imported but does not exist");
    std::string body;
    std::vector<std::string> exported;
    while (!text.empty()) {
      if (starts(text, "import ")) {
        const std::size_t end = text.find(';');
        if (end == text.npos) fail(module, "has an import without an end");
        body += import(module, text.substr(0, end));
        text.remove_prefix(end + 1);
        continue;
      }
      if (starts(text, "export ")) {
        text.remove_prefix(std::string_view("export ").size());
        exported.push_back(name_of(module, text));
      }
      const std::size_t end = std::min(text.find('\n'), text.size() - 1);
      body += text.substr(0, end + 1);
      text.remove_prefix(end + 1);
    }
    states_[module] = State::done;
    script_ += "// " + module + "\nconst " + variable(module) + " = (() => {\n" + body + "return {";
    for (const std::string& name : exported) script_ += " " + name + ",";
    script_ += " };\n})();\n";
  }

  std::string finish() const {
    for (const char* const dangerous : {"</script", "<!--", "<script"}) {
      if (script_.find(dangerous) != script_.npos)
        fail("the script", std::string("contains ") + dangerous + ", which HTML would interpret");
    }
    return script_;
  }

 private:
  enum class State { open, done };

  // import { a, b } from "./c.js" -> const { a, b } = module_c_js;
  std::string import(const std::string& module, std::string_view statement) {
    const std::string_view names = between(statement, "{", "}"), from = between(statement, "\"", "\"");
    if (names.empty() || !starts(from, ".") || names.find(" as ") != names.npos)
      fail(module, "has an import of an unsupported form: " + std::string(statement));
    const std::string other =
        (std::filesystem::path(module).parent_path() / from).lexically_normal().generic_string();
    add(other);
    return "const {" + std::string(names) + "} = " + variable(other) + ";";
  }

  static std::string variable(const std::string& module) {
    std::string name = "module_";
    for (const char c : module) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return name;
  }

  static std::string name_of(const std::string& module, std::string_view declaration) {
    for (const std::string_view kind : {"async function ", "function ", "class ", "const "}) {
      if (!starts(declaration, kind)) continue;
      declaration.remove_prefix(kind.size());
      return std::string(declaration.substr(0, declaration.find_first_of(" (=;{\n")));
    }
    fail(module, "has an export of an unsupported form");
  }

  const std::function<std::string_view(std::string_view)>& read_;
  std::map<std::string, State> states_;
  std::string script_;
};

}  // namespace

std::string join_modules(std::string_view entry,
                         const std::function<std::string_view(std::string_view)>& read) {
  Joiner joiner(read);
  joiner.add(std::string(entry));
  return "\"use strict\";\n" + joiner.finish();
}

}  // namespace attend::page
