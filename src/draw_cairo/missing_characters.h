// Characters that no font of this machine has: Pango draws a box with their number, and we say so.
#pragma once

#include <pango/pango.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace attend::draw {

class MissingCharacters {
 public:
  void look_at(PangoLayout* layout);
  void add(std::uint32_t character) { characters_.insert(character); }

  // One sentence a script, with a package of Debian that has it.
  std::vector<std::string> notes() const;

 private:
  std::set<std::uint32_t> characters_;
};

}  // namespace attend::draw
