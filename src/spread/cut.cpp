// Which rows each process has.
#include <attend/spread_attention.h>

#include "base/error.h"

namespace attend {

ZigzagCut::ZigzagCut(std::int64_t rows, int processes) : rows_(rows), processes_(processes) {
  constexpr const char* kOperation = "zigzag";
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // times a number of processes it fits 64 bits
  if (rows < 0 || rows > kMost) refuse(kOperation, "a sequence of ", rows, " rows, expected 0 to 2^40");
  if (processes < 1 || processes > 1 << 20)
    refuse(kOperation, processes, " processes, expected a number from 1 to 2^20");
}

std::array<RowChunk, 2> ZigzagCut::chunks_of(int process) const {
  const std::int64_t chunks = 2 * std::int64_t{processes_};
  const auto chunk = [&](std::int64_t c) { return RowChunk{rows_ * c / chunks, rows_ * (c + 1) / chunks}; };
  return {chunk(process), chunk(chunks - 1 - process)};
}

std::int64_t ZigzagCut::rows_of(int process) const {
  const auto [first, second] = chunks_of(process);
  return first.rows() + second.rows();
}

std::string_view name_of(SpreadWay way) noexcept {
  switch (way) {
    case SpreadWay::ring:
      return "ring";
    case SpreadWay::gathered:
      return "gathered";
    case SpreadWay::heads:
      return "heads";
  }
  return "";
}

}  // namespace attend
