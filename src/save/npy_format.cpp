#include "base/error.h"
#include "save/array_format.h"
#include "save/npy_header.h"

namespace attend::save {
namespace {

class NpyFormat final : public ArrayFormat {
 public:
  explicit NpyFormat(OutputFile& file) : file_(file) {}

  void begin(const std::string&, DType dtype, const Dims& shape) override {
    if (header_bytes_ != 0) refuse("save", "a .npy file holds one array; write .npz for several");
    dtype_ = dtype;
    header_bytes_ = npy_header_bytes(dtype, shape);
    file_.write(npy_header(dtype, shape, header_bytes_));
  }
  void data(std::string_view bytes) override { file_.write(bytes); }
  void end(const Dims& shape) override { file_.write_at(0, npy_header(dtype_, shape, header_bytes_)); }
  void finish() override {}

 private:
  OutputFile& file_;
  DType dtype_ = DType::f32;
  std::size_t header_bytes_ = 0;
};

}  // namespace

std::unique_ptr<ArrayFormat> npy_format(OutputFile& file) { return std::make_unique<NpyFormat>(file); }

}  // namespace attend::save
