#include <utility>

#include "base/error.h"
#include "save/array_format.h"
#include "save/safetensors_header.h"

namespace attend::save {
namespace {

class SafetensorsFormat final : public ArrayFormat {
 public:
  SafetensorsFormat(OutputFile& file, std::size_t header_bytes, std::map<std::string, std::string> metadata)
      : file_(file), header_bytes_(header_bytes), metadata_(std::move(metadata)) {
    file_.write(std::string(8 + header_bytes, ' '));
  }

  void begin(const std::string& name, DType dtype, const Dims&) override {
    arrays_.push_back({name, dtype, {}, position(), 0});
  }
  void data(std::string_view bytes) override { file_.write(bytes); }
  void end(const Dims& shape) override {
    arrays_.back().shape = shape;
    arrays_.back().end = position();
  }
  void finish() override {
    std::string header = safetensors_header(arrays_, metadata_);
    if (header.size() > header_bytes_) {
      refuse("save", "the names of ", arrays_.size(), " arrays take ", header.size(), " bytes, and ",
             header_bytes_, " were set aside");
    }
    header.resize(header_bytes_, ' ');
    std::string length;
    for (int i = 0; i < 8; ++i)
      length += static_cast<char>(static_cast<unsigned char>(header_bytes_ >> (8 * i)));
    file_.write_at(0, length + header);
  }

 private:
  std::uint64_t position() const { return file_.size() - 8 - header_bytes_; }

  OutputFile& file_;
  std::size_t header_bytes_;
  std::map<std::string, std::string> metadata_;
  std::vector<StoredArray> arrays_;
};

}  // namespace

std::unique_ptr<ArrayFormat> safetensors_format(OutputFile& file, std::size_t header_bytes,
                                                std::map<std::string, std::string> metadata) {
  return std::make_unique<SafetensorsFormat>(file, header_bytes, std::move(metadata));
}

}  // namespace attend::save
