// What a GGUF file says about its model: the metadata, looked at where it lies in the file. Its tensors are
// read by Checkpoint, which opens such a file as it opens any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <attend/checkpoint.h>
#include <attend/file_error.h>

namespace attend {

class ModelFile;

// As the format numbers them.
enum class GgufType : std::uint8_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
std::string_view name_of(GgufType type) noexcept;  // "u8", ..., "bool", "string", "array"

// One value, or an array of values of one type. Valid as long as its file is open; so are the strings. What
// is asked for as something that it is not is refused: FileError, with the key.
class GgufValue {
 public:
  GgufType type() const noexcept { return type_; }  // of an array: that of its elements
  bool is_array() const noexcept { return is_array_; }
  std::uint64_t count() const noexcept { return count_; }  // of an array's elements; else 1

  std::int64_t integer() const;  // of any whole type; refused where 64 bits with a sign cannot hold it
  double number() const;         // of any whole or floating type
  bool boolean() const;
  std::string_view string() const;  // UTF-8

  // The elements of an array, in order. Numbers are copied; strings are not, and may be any bytes.
  std::vector<std::int64_t> integers() const;
  std::vector<float> numbers() const;
  void for_each_string(const std::function<void(std::string_view)>& visit) const;

 private:
  friend class Gguf;
  struct Place {
    std::string_view file, key;
  };
  GgufValue(Place place, GgufType type, bool is_array, std::uint64_t count, std::span<const std::byte> bytes)
      : place_(place), type_(type), is_array_(is_array), count_(count), bytes_(bytes) {}
  std::int64_t integer_at(std::uint64_t index) const;
  double number_at(std::uint64_t index) const;
  void require_single(std::string_view expected) const;
  void require_array(std::string_view expected) const;
  [[noreturn]] void refuse_type(std::string_view expected) const;

  Place place_;
  GgufType type_;
  bool is_array_;
  std::uint64_t count_;
  std::span<const std::byte> bytes_;
};

// A file of version 2 or 3, mapped into memory. Everything but the values of tensors is checked when it is
// opened; throws FileError. Copies share what is open. Any thread may call any function.
class Gguf {
 public:
  static Gguf open(const std::filesystem::path& path);
  static Gguf open(const ModelFile& file);
  // Whether it begins as such a file does.
  static bool recognises(const ModelFile& file);

  const std::string& file() const noexcept;    // what errors call it
  std::vector<std::string_view> keys() const;  // in alphabetical order
  bool contains(std::string_view key) const;
  std::optional<GgufValue> find(std::string_view key) const;
  GgufValue at(std::string_view key) const;  // refused where there is none

  // Values under a key, and what stands for them where there is none; without a fallback there must be one.
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> fallback = {}) const;
  double number(std::string_view key, std::optional<double> fallback = {}) const;  // finite
  bool boolean(std::string_view key, bool fallback) const;
  std::string_view string(std::string_view key, std::optional<std::string_view> fallback = {}) const;

  Checkpoint tensors() const;  // of the same file

  // Throws FileError when the file has been cut short or changed since it was opened.
  void require_intact() const;

  struct Contents;  // of src/checkpoint

 private:
  explicit Gguf(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  std::shared_ptr<const Contents> contents_;
};

}  // namespace attend
