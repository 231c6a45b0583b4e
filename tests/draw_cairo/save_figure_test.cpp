#include "draw_cairo/save_figure.h"

#include <attend/file_error.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/figures.h"
#include "support/refuses.h"
#include "support/temporary_folder.h"

namespace attend::draw {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Figure small() {
  Figure figure;
  figure.parts = {heatmap_of(english_tokens(4))};
  return figure;
}

TEST(SaveFigure, WritesTheBytesOfThePage) {
  const TemporaryFolder folder;
  const Figure figure = small();
  for (const PageFormat format : {PageFormat::svg, PageFormat::png, PageFormat::pdf}) {
    EXPECT_TRUE(save_figure(figure, folder / "figure", format).empty());
    EXPECT_TRUE(content(folder / "figure") == render_page(figure, format).bytes);
  }
}

TEST(SaveFigure, KeepsWhatWasThereWhenItCannot) {
  const TemporaryFolder folder;
  std::ofstream(folder / "figure.png") << "before";
  const Figure figure = small();
  EXPECT_REFUSES(save_figure(figure, folder / "figure.png", PageFormat::png, {{}, 99}),
                 "[figure] a scale of 99");
  EXPECT_EQ(content(folder / "figure.png"), "before");
  EXPECT_THROW(save_figure(figure, folder / "no such folder" / "figure.png", PageFormat::png), FileError);
  EXPECT_THROW(save_figure(figure, folder.path(), PageFormat::png), FileError) << "a folder stands there";
}

// A device that is always full.
TEST(SaveFigure, AFullDiskIsOneSentence) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  try {
    save_figure(small(), "/dev/full", PageFormat::png);
    FAIL() << "nothing was wrong";
  } catch (const FileError& error) {
    EXPECT_EQ(error.file(), "/dev/full");
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace attend::draw
