# Writes OUTPUT, a C++ source that holds the files NAMES of the folder ROOT byte by byte (src/page/assets.h).
set(entries "")
foreach(name IN LISTS NAMES)
  file(READ ${ROOT}/${name} bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  string(APPEND entries "    {\"${name}\", {\"${bytes}\", ${size}}},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"page/assets.h\"

#include <utility>

namespace attend::page {
namespace {

constexpr std::pair<std::string_view, std::string_view> kAssets[] = {
${entries}};

}  // namespace

std::string_view asset(std::string_view name) noexcept {
  for (const auto& [known, bytes] : kAssets) {
    if (known == name) return bytes;
  }
  return {};
}

std::vector<std::string> asset_names() {
  std::vector<std::string> names;
  for (const auto& entry : kAssets) names.emplace_back(entry.first);
  return names;
}

}  // namespace attend::page
")
