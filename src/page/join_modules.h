// ES modules as one script, for a page that is a single file.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace attend::page {

// A script that does what the module `entry` does: it and all that it imports, each in a function of its own,
// what is imported first. read gives the text of a module by its name ("views/map.js"), empty for none.
//
// Modules keep to two forms, each at the start of a line: import { a, b } from "./other.js"; and export
// before function, async function, class or const. Throws std::logic_error for others, for a module that is
// not there, for a circle, and for text that would end the script's element.
std::string join_modules(std::string_view entry,
                         const std::function<std::string_view(std::string_view)>& read);

}  // namespace attend::page
