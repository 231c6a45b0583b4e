#include "draw_cairo/missing_characters.h"

#include <glib.h>

#include <array>
#include <map>

namespace attend::draw {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string in_utf8(std::uint32_t character) {
  std::array<char, 6> bytes;
  const int length = g_unichar_to_utf8(character, bytes.data());
  return {bytes.data(), static_cast<std::size_t>(length)};
}

const char* package_for(std::uint32_t character) {
  switch (g_unichar_get_script(character)) {
    case G_UNICODE_SCRIPT_HAN:
    case G_UNICODE_SCRIPT_HIRAGANA:
    case G_UNICODE_SCRIPT_KATAKANA:
    case G_UNICODE_SCRIPT_HANGUL:
    case G_UNICODE_SCRIPT_BOPOMOFO:
      return "fonts-noto-cjk";
    default:
      break;
  }
  if (g_unichar_iswide(character)) {
    // Chinese and Japanese punctuation lies below, emoji above.
    return character < 0x1F000 ? "fonts-noto-cjk" : "fonts-noto-color-emoji";
  }
  return character >= 0x1F000 && character < 0x20000 ? "fonts-noto-color-emoji" : "fonts-noto-core";
}

}  // namespace

void MissingCharacters::look_at(PangoLayout* layout) {
  if (pango_layout_get_unknown_glyphs_count(layout) == 0) return;
  PangoLayoutLine* line = pango_layout_get_line_readonly(layout, 0);
  for (GSList* run = line->runs; run != nullptr; run = run->next) {
    const PangoGlyphString* glyphs = static_cast<PangoGlyphItem*>(run->data)->glyphs;
    for (int i = 0; i < glyphs->num_glyphs; ++i) {
      const PangoGlyph glyph = glyphs->glyphs[i].glyph;
      if (glyph != PANGO_GLYPH_EMPTY && (glyph & PANGO_GLYPH_UNKNOWN_FLAG) != 0)
        add(glyph & ~static_cast<PangoGlyph>(PANGO_GLYPH_UNKNOWN_FLAG));
    }
  }
}

std::vector<std::string> MissingCharacters::notes() const {
  std::map<std::string, std::vector<std::uint32_t>> by_package;
  for (const std::uint32_t character : characters_) by_package[package_for(character)].push_back(character);
  std::vector<std::string> notes;
  for (const auto& [package, characters] : by_package) {
    std::string named;
    for (std::size_t i = 0; i < characters.size() && i < kMostNamed; ++i)
      named += (i > 0 ? " " : "") + in_utf8(characters[i]);
    const std::size_t more = characters.size() > kMostNamed ? characters.size() - kMostNamed : 0;
    notes.push_back("no font on this machine has " + named +
                    (more > 0 ? " and " + std::to_string(more) + " more characters" : "") +
                    ": they are drawn as boxes (Debian's package " + package + " has such fonts)");
  }
  return notes;
}

}  // namespace attend::draw
