// Any bytes as NumPy's files: the first byte chooses .npy or .npz. Numbers that the file really holds, or
// FileError.
#include "checkpoint/npy.h"
#include "checkpoint/zip.h"

#include "fuzz/file_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  if (size == 0) return 0;
  const io::FileText text = file_text(data + 1, size - 1);
  const io::ByteSource bytes{"fuzz", text.size, [&](std::size_t offset, std::span<char> into) {
                               require(offset <= text.size && into.size() <= text.size - offset);
                               if (!into.empty())
                                 std::memcpy(into.data(), text.memory.get() + offset, into.size());
                             }};
  const auto read = [&](std::size_t offset, std::size_t length, const std::uint32_t* crc) {
    const Tensor tensor = checkpoint::read_npy(bytes, "array", offset, length, crc);
    require(static_cast<std::size_t>(tensor.count()) <= length);
  };
  if (data[0] % 2 == 0) {
    parse_or_refuse([&] { read(0, text.size, nullptr); });
    return 0;
  }
  parse_or_refuse([&] {
    std::size_t total = 0;
    for (const checkpoint::ZipMember& member : checkpoint::list_zip(bytes)) {
      require(member.offset <= text.size && member.size <= text.size - member.offset);
      total += member.size;
      // A checksum is what a fuzzer cannot guess, so it is not looked at here.
      parse_or_refuse([&] { read(member.offset, member.size, nullptr); });
    }
    require(total <= text.size);
  });
  return 0;
}
