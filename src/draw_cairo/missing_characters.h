// Characters that no font on this machine has: Pango draws a box with their code point, and we say so.
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

  // One sentence per script, naming a Debian package that has it.
  std::vector<std::string> notes() const;

 private:
  std::set<std::uint32_t> characters_;
};

}  // namespace attend::draw
