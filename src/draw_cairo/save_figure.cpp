#include "draw_cairo/save_figure.h"

#include <utility>

#include "save/output_file.h"

namespace attend::draw {

std::vector<std::string> save_figure(const Figure& figure, const std::filesystem::path& file,
                                     PageFormat format, const FileOptions& options) {
  RenderedPage page = render_page(figure, format, options);
  save::OutputFile output(file);
  output.write(page.bytes);
  output.commit();
  return std::move(page.notes);
}

}  // namespace attend::draw
