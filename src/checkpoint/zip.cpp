#include "checkpoint/zip.h"

#include <algorithm>
#include <set>

#include "io/fail.h"

namespace attend::checkpoint {
namespace {

constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56;
constexpr std::size_t kCentralBytes = 46, kLocalBytes = 30, kLongestComment = 0xFFFF;
constexpr std::uint32_t kEnd = 0x06054B50, kLocator = 0x07064B50, kEnd64 = 0x06064B50;
constexpr std::uint32_t kCentral = 0x02014B50, kLocal = 0x04034B50;
constexpr std::uint64_t kFull16 = 0xFFFF, kFull32 = 0xFFFFFFFF;

// Numbers of a record, by their places in it.
class Record {
 public:
  explicit Record(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t u16(std::size_t at) const { return io::little_endian(bytes_.substr(at, 2)); }
  std::uint64_t u32(std::size_t at) const { return io::little_endian(bytes_.substr(at, 4)); }
  std::uint64_t u64(std::size_t at) const { return io::little_endian(bytes_.substr(at, 8)); }

 private:
  std::string_view bytes_;
};

struct Directory {
  std::uint64_t members = 0, offset = 0, size = 0;
};

Directory find_directory(const io::ByteSource& bytes) {
  if (bytes.size < kEndBytes) io::fail(bytes.name, "", "has ", bytes.size, " bytes, too few for an archive");
  const std::size_t tail_bytes = std::min(bytes.size, kEndBytes + kLongestComment);
  const std::size_t tail_start = bytes.size - tail_bytes;
  const std::string tail = bytes.text(tail_start, tail_bytes);
  for (std::size_t at = tail_bytes - kEndBytes + 1; at-- > 0;) {
    const Record end(std::string_view(tail).substr(at));
    if (end.u32(0) != kEnd || at + kEndBytes + end.u16(20) != tail_bytes) continue;
    Directory directory{end.u16(10), end.u32(16), end.u32(12)};
    std::uint64_t stop = tail_start + at;  // where the directory must end
    const bool large =
        directory.members == kFull16 || directory.offset == kFull32 || directory.size == kFull32;
    if (large && stop >= kLocatorBytes) {
      const std::string locator = bytes.text(stop - kLocatorBytes, kLocatorBytes);
      if (Record(locator).u32(0) == kLocator) {
        const std::uint64_t place = Record(locator).u64(8);
        if (stop - kLocatorBytes < kEnd64Bytes || place > stop - kLocatorBytes - kEnd64Bytes)
          io::fail(bytes.name, "", "says that its end record is at byte ", place, ", where it cannot be");
        const std::string record = bytes.text(place, kEnd64Bytes);
        if (Record(record).u32(0) != kEnd64) io::fail(bytes.name, "", "has no end record where it says");
        directory = {Record(record).u64(32), Record(record).u64(48), Record(record).u64(40)};
        stop = place;
      }
    }
    if (directory.members > kMaxZipMembers)
      io::fail(bytes.name, "", "has ", directory.members, " members, more than ", kMaxZipMembers);
    if (directory.size > kMaxZipDirectory)
      io::fail(bytes.name, "", "has a directory of ", directory.size, " bytes, more than ", kMaxZipDirectory);
    if (directory.size > stop || directory.offset != stop - directory.size)
      io::fail(bytes.name, "", "says that its directory is where it is not");
    return directory;
  }
  io::fail(bytes.name, "", "does not end as an archive does");
}

// What stands in a member's own field where 32 bits are too few: sizes and place, those that are needed, in
// this order.
void read_large_numbers(const io::ByteSource& bytes, std::string_view name, std::string_view extra,
                        std::initializer_list<std::uint64_t*> numbers) {
  while (extra.size() >= 4) {
    const std::uint64_t kind = Record(extra).u16(0), size = Record(extra).u16(2);
    if (size > extra.size() - 4) break;
    std::string_view field = extra.substr(4, size);
    extra.remove_prefix(4 + size);
    if (kind != 1) continue;
    for (std::uint64_t* const number : numbers) {
      if (*number != kFull32) continue;
      if (field.size() < 8) io::fail(bytes.name, name, "lacks a number that its entry promises");
      *number = io::little_endian(field.substr(0, 8));
      field.remove_prefix(8);
    }
    return;
  }
}

// One entry of the directory, which is moved past it; `offset` is still that of the member's own header.
ZipMember read_entry(const io::ByteSource& bytes, std::string_view& directory) {
  const Record entry(directory);
  if (directory.size() < kCentralBytes || entry.u32(0) != kCentral)
    io::fail(bytes.name, "", "has a directory that ends early");
  const std::uint64_t name_bytes = entry.u16(28), extra_bytes = entry.u16(30), comment = entry.u16(32);
  if (name_bytes + extra_bytes + comment > directory.size() - kCentralBytes)
    io::fail(bytes.name, "", "has a directory that ends early");
  const std::string_view name = directory.substr(kCentralBytes, name_bytes);
  const std::string_view extra = directory.substr(kCentralBytes + name_bytes, extra_bytes);
  if ((entry.u16(8) & 1) != 0) io::fail(bytes.name, name, "is encrypted");
  if (entry.u16(10) != 0) {
    io::fail(bytes.name, name, "is compressed; attend reads what numpy.savez writes, not savez_compressed");
  }
  std::uint64_t packed = entry.u32(20), size = entry.u32(24), offset = entry.u32(42);
  read_large_numbers(bytes, name, extra, {&size, &packed, &offset});
  if (packed != size) io::fail(bytes.name, name, "is stored, and yet has two sizes");
  ZipMember member{std::string(name), offset, size, static_cast<std::uint32_t>(entry.u32(16))};
  directory.remove_prefix(kCentralBytes + name_bytes + extra_bytes + comment);
  return member;
}

// Moves the offset from the member's own header to its data.
void find_data(const io::ByteSource& bytes, ZipMember& member, std::uint64_t limit) {
  const auto outside = [&] { io::fail(bytes.name, member.name, "lies outside the archive"); };
  if (member.offset > limit || limit - member.offset < kLocalBytes) outside();
  const std::string header = bytes.text(member.offset, kLocalBytes);
  if (Record(header).u32(0) != kLocal) io::fail(bytes.name, member.name, "is not where the directory says");
  const std::uint64_t name_bytes = Record(header).u16(26), extra_bytes = Record(header).u16(28);
  const std::uint64_t room = limit - member.offset - kLocalBytes;
  if (name_bytes + extra_bytes > room || member.size > room - name_bytes - extra_bytes) outside();
  if (bytes.text(member.offset + kLocalBytes, name_bytes) != member.name)
    io::fail(bytes.name, member.name, "has another name in front of its data");
  member.offset += kLocalBytes + name_bytes + extra_bytes;
}

}  // namespace

std::vector<ZipMember> list_zip(const io::ByteSource& bytes) {
  const Directory directory = find_directory(bytes);
  const std::string text = bytes.text(directory.offset, directory.size);
  std::string_view rest = text;
  std::vector<ZipMember> members;
  std::set<std::string> names;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    ZipMember member = read_entry(bytes, rest);
    if (!names.insert(member.name).second) io::fail(bytes.name, member.name, "is there twice");
    const std::uint64_t begin = member.offset;
    find_data(bytes, member, directory.offset);
    places.emplace_back(begin, member.offset + member.size);
    members.push_back(std::move(member));
  }
  if (!rest.empty()) io::fail(bytes.name, "", "has a directory with more than its members");
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].first < places[i - 1].second) io::fail(bytes.name, "", "has members that overlap");
  }
  return members;
}

}  // namespace attend::checkpoint
