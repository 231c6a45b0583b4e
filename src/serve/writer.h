// One model that writes, for many requests at once.
//
// One thread takes all texts forward together, a token a step, for little more than the time of one text.
// Requests join and leave between steps: one whose client has gone, or whose deadline is over, leaves at
// once. A text has the same bits whatever is written beside it.
//
// Who joins: a text of the request that has the fewest, of equals the first. One that asks for 128 texts thus
// leaves room for the others.
#pragma once

#include <attend/generator_batch.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "serve/batcher.h"

namespace attend::serve {

struct WantedText {
  std::vector<std::int32_t> prompt{};
  GenerateOptions options{};  // on_token: on the writer's thread
};

// One request. Its functions are called on the writer's thread, so they hand on what takes time.
struct WritingWork : Times {
  std::vector<WantedText> texts{};
  bool ends_without_room = false;   // as GeneratorBatch has it
  std::function<bool()> wanted{};   // whether somebody still waits for it; from any thread
  std::function<void()> in_time{};  // throws once it has taken too long; may be empty
  std::function<void(std::size_t text)> begun_with{};
  std::function<void(std::size_t text, Generated written)> written{};
  std::function<void()> done{};  // all are written, or failure says why not
  std::exception_ptr failure{};
};

struct WriterOptions {
  std::int64_t texts = 16;              // at a time
  std::int64_t total_tokens = 1 << 16;  // that these texts may come to, with their prompts; one always may
};

class Writer {
 public:
  // stepped(texts): after each step.
  Writer(const TextModel& model, const WriterOptions& options,
         std::function<void(std::int64_t)> stepped = {});
  ~Writer();  // after all work that was added
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // From any thread.
  std::vector<std::int32_t> prompt_of(std::span<const ChatMessage> messages);
  std::vector<std::int32_t> prompt_of(std::string_view text) const;
  void add(std::shared_ptr<WritingWork> work);
  void drop_unwanted();                   // of what waits; what is written is seen to at its next step
  std::int64_t waiting_requests() const;  // that have no text yet
  std::int64_t texts() const noexcept { return writing_; }

 private:
  // A request of which texts are to be written yet, or are being written.
  struct Request {
    std::shared_ptr<WritingWork> work{};
    std::size_t next = 0;  // the first text that has not joined
    std::map<GeneratorBatch::Id, std::size_t> live{};
  };
  using Place = std::list<Request>::iterator;

  void run();
  bool wait_for_work();
  void leave();
  void join();
  bool has_room_for(const WantedText& text) const;
  std::int64_t most_tokens(const WantedText& text) const;
  void step();
  void end(GeneratorBatch::Ended ended);
  void fail(Place request, std::exception_ptr failure);
  void remove(Place request);

  const WriterOptions options_;
  const std::function<void(std::int64_t)> stepped_;
  std::mutex generator_mutex_;
  Generator generator_;  // its template and tokenizer; nothing is written with it
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<WritingWork>> arrived_;
  bool ending_ = false;
  std::atomic<std::int64_t> waiting_ = 0, writing_ = 0;

  // Of the thread alone.
  GeneratorBatch batch_;
  std::list<Request> requests_;                          // in the order of their arrival
  std::map<GeneratorBatch::Id, std::int64_t> reserved_;  // tokens that each text may come to

  std::thread thread_;
};

}  // namespace attend::serve
