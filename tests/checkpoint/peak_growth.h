// How much memory opening a file takes.
#pragma once

#include <attend/checkpoint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

namespace attend {

// Runs in a process of its own, so that its peak memory is its own too.
inline std::int64_t peak_growth_of_opening(const std::filesystem::path& path) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    struct rusage before {
    }, after{};
    ::getrusage(RUSAGE_SELF, &before);
    try {
      Checkpoint::open(path);
    } catch (const FileError&) {
    }
    ::getrusage(RUSAGE_SELF, &after);
    const std::int64_t growth = (after.ru_maxrss - before.ru_maxrss) * 1024;
    const bool written = ::write(ends[1], &growth, sizeof growth) == sizeof growth;
    ::_exit(written ? 0 : 1);
  }
  std::int64_t growth = -1;
  if (::read(ends[0], &growth, sizeof growth) != sizeof growth) growth = -1;
  ::close(ends[0]);
  ::close(ends[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? growth : -1;
}

}  // namespace attend
