// JSON of unknown origin as a tree, for texts whose parts are asked for in an order of their own. Everything
// that is wrong becomes a FileError that names the file and the path in it: "model.vocab[3]: ...".
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/json_reader.h"
#include "io/open_file.h"

namespace attend::io {

class JsonValue;

// A whole text, and 16 bytes for each of its values and keys. It must outlive its values.
class JsonDocument {
 public:
  static constexpr std::size_t kMaxValues = std::size_t{1} << 25;

  // Refuses what is not JSON, and a key that comes twice.
  explicit JsonDocument(FileText text);
  JsonDocument(std::string name, std::string_view text);  // of which it makes a copy
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root() const;
  const std::string& file() const noexcept { return text_.name; }

 private:
  friend class JsonValue;

  // In the order of the text: an array is followed by its elements, an object by its keys, which are strings,
  // each with its value after it.
  struct Node {
    std::uint32_t begin = 0;  // of a string or number, in the text
    std::uint32_t size = 0;   // of a string or number; how many elements or members
    std::uint32_t end = 0;    // the node after this one and all that it holds
    JsonKind kind = JsonKind::null;
    bool truth = false;
  };

  void add(JsonReader& json);
  void add_text(JsonKind kind, std::string_view text);
  void add_object(JsonReader& json);
  std::string_view text_of(const Node& node) const noexcept {
    return {text_.memory.get() + node.begin, node.size};
  }
  std::string path_of(std::uint32_t node) const;

  FileText text_;
  std::vector<Node> nodes_;
};

// A value of a document.
class JsonValue {
 public:
  const std::string& file() const noexcept { return document_->file(); }
  std::string path() const { return document_->path_of(node_); }  // "normalizer.normalizers[3]"
  JsonKind kind() const noexcept { return node().kind; }
  bool is_null() const noexcept { return kind() == JsonKind::null; }
  bool is_object() const noexcept { return kind() == JsonKind::object; }
  bool is_array() const noexcept { return kind() == JsonKind::array; }
  bool is_string() const noexcept { return kind() == JsonKind::string; }
  bool is_number() const noexcept { return kind() == JsonKind::number; }

  // The value itself.
  std::string_view string() const;
  bool boolean() const;
  double number() const;
  std::int64_t integer(std::int64_t smallest, std::int64_t largest) const;
  char32_t character() const;  // a string of one

  // Of an array or an object: how many it holds, and each in its order. More than `most` are refused.
  class Elements;
  class Members;
  Elements elements(std::size_t most = SIZE_MAX) const;
  Members members() const;

  // An object's members. A key that is not among those named here is refused.
  const JsonValue& only_keys(std::initializer_list<std::string_view> keys) const;
  std::optional<JsonValue> find(std::string_view key) const;  // nothing for null too
  JsonValue at(std::string_view key) const;
  bool boolean(std::string_view key, bool otherwise) const;

  // The member "type" of an object, and whether it is this one.
  std::string_view type() const;
  bool is_bare(std::string_view type) const;  // of this type, which has no other members

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    fail_with(joined(parts...));
  }

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t node) : document_(document), node_(node) {}
  const JsonDocument::Node& node() const noexcept { return document_->nodes_[node_]; }
  void require(JsonKind wanted) const;
  [[noreturn]] void fail_with(std::string rule) const;

  const JsonDocument* document_;
  std::uint32_t node_;
};

// for (const JsonValue element : array.elements())
class JsonValue::Elements {
 public:
  class Iterator {
   public:
    using value_type = JsonValue;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(JsonValue value) : value_(value) {}
    JsonValue operator*() const { return value_; }
    Iterator& operator++() {
      value_.node_ = value_.node().end;
      return *this;
    }
    bool operator==(const Iterator& other) const { return value_.node_ == other.value_.node_; }

   private:
    JsonValue value_;
  };

  std::size_t size() const noexcept { return array_.node().size; }
  Iterator begin() const { return Iterator({array_.document_, array_.node_ + 1}); }
  Iterator end() const { return Iterator({array_.document_, array_.node().end}); }
  JsonValue operator[](std::size_t index) const;  // by counting from the first

 private:
  friend class JsonValue;
  explicit Elements(JsonValue array) : array_(array) {}
  JsonValue array_;
};

// for (const auto& [key, value] : object.members())
class JsonValue::Members {
 public:
  class Iterator {
   public:
    using value_type = std::pair<std::string_view, JsonValue>;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(JsonValue key) : key_(key) {}
    value_type operator*() const {
      return {key_.document_->text_of(key_.node()), JsonValue(key_.document_, key_.node_ + 1)};
    }
    Iterator& operator++() {
      key_.node_ = key_.document_->nodes_[key_.node_ + 1].end;
      return *this;
    }
    bool operator==(const Iterator& other) const { return key_.node_ == other.key_.node_; }

   private:
    JsonValue key_;
  };

  std::size_t size() const noexcept { return object_.node().size; }
  Iterator begin() const { return Iterator({object_.document_, object_.node_ + 1}); }
  Iterator end() const { return Iterator({object_.document_, object_.node().end}); }

 private:
  friend class JsonValue;
  explicit Members(JsonValue object) : object_(object) {}
  JsonValue object_;
};

}  // namespace attend::io
