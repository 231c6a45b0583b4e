// A whole file, or standard input, as text: bounded, and with the system's reason when it cannot be read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attend::steps {

// A lesson is a handful of vectors: this is far more than any needs, and small enough to hold several times.
inline constexpr std::size_t kMaxLessonBytes = std::size_t{256} << 20;

// The file at `path`, or standard input when path is "-". Throws LessonError: unreadable or too_large.
std::string read_text_file(const std::string& path);

// What messages call this path: "standard input" for "-", else the path itself.
std::string display_name(std::string_view path);

[[noreturn]] void refuse_too_large(std::string_view name);

}  // namespace attend::steps
