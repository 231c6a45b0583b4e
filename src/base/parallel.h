// Runs the chunks of one job on the library's threads.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "base/detail.h"

namespace attend::detail {

// The most lanes a job of so many chunks can use: scratch memory is one piece for each.
int lanes_for(std::int64_t chunks);

// Which chunks a lane begins with; those who are done early then help the others.
enum class Sharing : std::uint8_t {
  turns,       // lane, lane + lanes, ...: the first are begun first, which suits chunks that begin with the
               // longest
  neighbours,  // an equal run of them each: rows that one operation leaves in a core's cache are there for
               // the next
  given,       // the caller says
};

using ChunkBody = void (*)(void* context, std::int64_t chunk, int lane);
// `begins` where the shares are given: lanes + 1 numbers, lane i begins with [begins[i], begins[i + 1]).
void run_chunks(std::int64_t chunks, int lanes, Sharing sharing, const std::int64_t* begins, ChunkBody body,
                void* context);

template <class Body>
void run_body(std::int64_t chunks, int lanes, Sharing sharing, const std::int64_t* begins, Body& body) {
  static_assert(std::is_nothrow_invocable_v<Body&, std::int64_t, int>, "a chunk must be noexcept");
  run_chunks(
      chunks, lanes, sharing, begins,
      [](void* context, std::int64_t chunk, int lane) { (*static_cast<Body*>(context))(chunk, lane); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// Calls body(chunk, lane) once for each chunk in [0, chunks), in any order, and returns when all are done;
// lane is below `lanes`. body must not throw. A call from inside a job, or while another thread's job runs,
// is carried out by the caller alone. What the thread's check (attend/interrupt.h) throws is thrown here;
// some chunks are then never called.
template <class Body>
void parallel_for(std::int64_t chunks, int lanes, Sharing sharing, Body&& body) {
  run_body(chunks, lanes, sharing, nullptr, body);
}

template <class Body>
void parallel_for(std::int64_t chunks, int lanes, Body&& body) {
  parallel_for(chunks, lanes, Sharing::turns, body);
}

// Chunks [0, begins.back()), of which lane i begins with those from begins[i] on.
template <class Body>
void parallel_for(std::span<const std::int64_t> begins, Body&& body) {
  run_body(begins.back(), static_cast<int>(begins.size()) - 1, Sharing::given, begins.data(), body);
}

template <class Body>
void parallel_for(std::int64_t chunks, Body&& body) {
  parallel_for(chunks, lanes_for(chunks), body);
}

}  // namespace attend::detail
