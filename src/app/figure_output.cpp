#include "app/figure_output.h"

#include <filesystem>

#include "app/output.h"
#include "draw/figure_json.h"
#include "draw/page/svg.h"
#include "draw_cairo/page_format.h"
#include "draw_cairo/save_figure.h"
#include "save/output_file.h"

namespace attend::app {
namespace {

constexpr int kFigureDigits = 4;  // of a number in a description: the same on every instruction set

void save_text(const std::string& text, const std::string& file) {
  save::OutputFile out(file);
  out.write(text);
  out.commit();
}

}  // namespace

void write_text(const std::string& text, const std::string& file) {
  file.empty() ? write_output(text) : save_text(text, file);
}

void write_rendered(const std::string& text, const std::string& file) {
  file.empty() ? write_styled(text) : save_text(text, file);
}

void write_figure(const draw::Figure& figure, const std::string& format, const std::string& file) {
  if (format == "figure") {
    write_text(draw::figure_json(figure, kFigureDigits), file);
  } else if (file.empty()) {
    write_output(draw::figure_svg(figure));
  } else {
    const draw::PageFormat page = *draw::page_format_of("figure." + format);
    for (const std::string& note : draw::save_figure(figure, file, page)) say(note);
  }
}

std::string extension_of(const std::string& file) {
  std::string extension = std::filesystem::path(file).extension().string();
  if (!extension.empty()) extension.erase(0, 1);
  return extension;
}

}  // namespace attend::app
