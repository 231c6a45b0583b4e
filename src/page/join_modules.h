// Joins ES modules into one script, for a page that is a single file.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace attend::page {

// A script that does what the module `entry` does: that module and everything it imports, each in its own
// function, imported modules first. read returns the text of a module by its name ("views/map.js"), or an
// empty text.
//
// Modules use two forms only, each at the start of a line: import { a, b } from "./other.js"; and export
// before function, async function, class or const. Throws std::logic_error for other forms, for a missing
// module, for circular imports, and for text that would end the script element.
std::string join_modules(std::string_view entry,
                         const std::function<std::string_view(std::string_view)>& read);

}  // namespace attend::page
