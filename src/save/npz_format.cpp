// .npz: a zip archive of .npy files that are stored as they are, in the form that numpy.savez gives it. Times
// are those of 1980-01-01, so that the same arrays make the same bytes.
#include <limits>
#include <set>
#include <vector>

#include "base/error.h"
#include "io/crc32.h"
#include "save/array_format.h"
#include "save/npy_header.h"

namespace attend::save {
namespace {

constexpr std::uint32_t kFull32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint16_t kFull16 = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint16_t kVersion = 45;  // zip64
constexpr std::uint16_t kUtf8Names = 0x800;
constexpr std::uint16_t kFirstDay = 0x21;  // 1980-01-01

// Little-endian numbers one after the other.
class Record {
 public:
  Record& u16(std::uint64_t value) { return number(value, 2); }
  Record& u32(std::uint64_t value) { return number(value, 4); }
  Record& u64(std::uint64_t value) { return number(value, 8); }
  Record& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
    return *this;
  }
  std::string bytes_;
};

struct Member {
  std::string name;
  std::uint64_t offset = 0, size = 0;
  std::uint32_t crc = 0;
};

std::uint64_t capped(std::uint64_t value) { return value < kFull32 ? value : kFull32; }

// The sizes stand in the zip64 field, since they are not known when this is first written.
std::string local_header(const Member& member) {
  Record record;
  record.u32(0x04034B50).u16(kVersion).u16(kUtf8Names).u16(0).u16(0).u16(kFirstDay).u32(member.crc);
  record.u32(kFull32).u32(kFull32).u16(member.name.size()).u16(20).text(member.name);
  return record.u16(1).u16(16).u64(member.size).u64(member.size).bytes();
}

std::string central_header(const Member& member) {
  Record zip64;
  if (member.size >= kFull32) zip64.u64(member.size).u64(member.size);
  if (member.offset >= kFull32) zip64.u64(member.offset);
  const std::size_t extra = zip64.bytes().empty() ? 0 : zip64.bytes().size() + 4;
  Record record;
  record.u32(0x02014B50)
      .u16(kVersion)
      .u16(kVersion)
      .u16(kUtf8Names)
      .u16(0)
      .u16(0)
      .u16(kFirstDay)
      .u32(member.crc);
  record.u32(capped(member.size))
      .u32(capped(member.size))
      .u16(member.name.size())
      .u16(extra)
      .u16(0)
      .u16(0)
      .u16(0);
  record.u32(std::uint64_t{0644 | 0100000} << 16).u32(capped(member.offset)).text(member.name);
  if (extra != 0) record.u16(1).u16(zip64.bytes().size()).text(zip64.bytes());
  return record.bytes();
}

std::string end_of_archive(std::uint64_t members, std::uint64_t begin, std::uint64_t end) {
  Record record;
  if (members >= kFull16 || begin >= kFull32 || end - begin >= kFull32) {
    record.u32(0x06064B50).u64(44).u16(kVersion).u16(kVersion).u32(0).u32(0).u64(members).u64(members);
    record.u64(end - begin).u64(begin).u32(0x07064B50).u32(0).u64(end).u32(1);
  }
  const std::uint64_t count = members < kFull16 ? members : kFull16;
  record.u32(0x06054B50)
      .u16(0)
      .u16(0)
      .u16(count)
      .u16(count)
      .u32(capped(end - begin))
      .u32(capped(begin))
      .u16(0);
  return record.bytes();
}

class NpzFormat final : public ArrayFormat {
 public:
  explicit NpzFormat(ByteOutput& output) : file_(output) {}

  void begin(const std::string& name, DType dtype, const Dims& shape) override {
    if (name.empty() || name.size() > 1000 ||
        name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      refuse("save", "\"", name, "\" cannot be the name of an array in .npz");
    }
    if (!names_.insert(name).second) refuse("save", "there are two arrays named \"", name, "\"");
    members_.push_back({name + ".npy", file_.size(), 0, 0});
    dtype_ = dtype;
    header_bytes_ = npy_header_bytes(dtype, shape);
    data_bytes_ = 0;
    data_crc_ = 0;
    file_.write(local_header(members_.back()));
    file_.write(npy_header(dtype, shape, header_bytes_));
  }

  void data(std::string_view bytes) override {
    data_crc_ = io::crc32(data_crc_, bytes);
    data_bytes_ += bytes.size();
    file_.write(bytes);
  }

  void end(const Dims& shape) override {
    Member& member = members_.back();
    const std::string header = npy_header(dtype_, shape, header_bytes_);
    member.size = header_bytes_ + data_bytes_;
    member.crc = io::crc32_joined(io::crc32(0, header), data_crc_, data_bytes_);
    file_.write_at(member.offset, local_header(member) + header);
  }

  void finish() override {
    const std::uint64_t begin = file_.size();
    for (const Member& member : members_) file_.write(central_header(member));
    file_.write(end_of_archive(members_.size(), begin, file_.size()));
  }

 private:
  ByteOutput& file_;
  std::vector<Member> members_;
  std::set<std::string> names_;
  DType dtype_ = DType::f32;
  std::size_t header_bytes_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::uint32_t data_crc_ = 0;
};

}  // namespace

std::unique_ptr<ArrayFormat> npz_format(ByteOutput& output) { return std::make_unique<NpzFormat>(output); }

}  // namespace attend::save
