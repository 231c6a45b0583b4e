#include "page/join_modules.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

namespace attend::page {
namespace {

using Modules = std::map<std::string, std::string, std::less<>>;

std::string joined(const Modules& modules) {
  return join_modules("main.js", [&](std::string_view name) -> std::string_view {
    const auto found = modules.find(name);
    return found == modules.end() ? std::string_view() : std::string_view(found->second);
  });
}

TEST(JoinModules, WhatIsImportedComesFirst) {
  const std::string script =
      joined({{"main.js", "import { a } from \"./math/a.js\";\na();\n"},
              {"math/a.js", "import { b } from \"../b.js\";\nexport function a() { b; }\n"},
              {"b.js", "export const b = 1;\n"}});
  EXPECT_EQ(
      script,
      "\"use strict\";\n"
      "// b.js\nconst module_b_js = (() => {\nconst b = 1;\nreturn { b, };\n})();\n"
      "// math/a.js\nconst module_math_a_js = (() => {\nconst { b } = module_b_js;\nfunction a() { b; }\n"
      "return { a, };\n})();\n"
      "// main.js\nconst module_main_js = (() => {\nconst { a } = module_math_a_js;\na();\nreturn { "
      "};\n})();\n");
}

TEST(JoinModules, AModuleIsThereOnce) {
  const std::string script =
      joined({{"main.js", "import { a } from \"./a.js\";\nimport { b } from \"./b.js\";\n"},
              {"a.js", "import { b } from \"./b.js\";\nexport class a {}\n"},
              {"b.js", "export async function b() {}\n"}});
  EXPECT_EQ(script.find("const module_b_js"), script.rfind("const module_b_js"));
}

TEST(JoinModules, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(joined({{"main.js", "import x from \"./a.js\";\n"}, {"a.js", "1\n"}}), std::logic_error);
  EXPECT_THROW(joined({{"main.js", "import { x as y } from \"./a.js\";\n"}, {"a.js", "1\n"}}),
               std::logic_error);
  EXPECT_THROW(joined({{"main.js", "import { x } from \"lib\";\n"}, {"lib", "1\n"}}), std::logic_error);
  EXPECT_THROW(joined({{"main.js", "import { x } from \"./a.js\";\n"}}), std::logic_error);
  EXPECT_THROW(joined({{"main.js", "export default 1;\n"}}), std::logic_error);
}

TEST(JoinModules, RefusesACircle) {
  EXPECT_THROW(joined({{"main.js", "import { a } from \"./a.js\";\nexport const m = 1;\n"},
                       {"a.js", "import { m } from \"./main.js\";\nexport const a = 1;\n"}}),
               std::logic_error);
}

TEST(JoinModules, RefusesTextThatEndsAScript) {
  EXPECT_THROW(joined({{"main.js", "'</script>';\n"}}), std::logic_error);
  EXPECT_THROW(joined({{"main.js", "'<!--';\n"}}), std::logic_error);
}

}  // namespace
}  // namespace attend::page
