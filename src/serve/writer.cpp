#include "serve/writer.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace attend::serve {
namespace {

constexpr std::int64_t kKeptTokens = 8192;  // of prompts: a conversation or two
constexpr std::int64_t kUsualTokens = 200;  // as GenerateOptions has it, where nobody says

}  // namespace

Writer::Writer(const TextModel& model, const WriterOptions& options,
               std::function<void(std::int64_t)> stepped)
    : options_(options),
      stepped_(std::move(stepped)),
      generator_(model),
      batch_(generator_, {.kept_tokens = kKeptTokens}),
      thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::vector<std::int32_t> Writer::prompt_of(std::span<const ChatMessage> messages) {
  const std::lock_guard lock(generator_mutex_);  // the template is read at its first use
  return generator_.chat_prompt(messages);
}

std::vector<std::int32_t> Writer::prompt_of(std::string_view text) const {
  return generator_.prompt_of(text);
}

void Writer::add(std::shared_ptr<WritingWork> work) {
  work->queued = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(work));
    ++waiting_;
  }
  wake_.notify_one();
}

void Writer::drop_unwanted() {
  std::vector<std::shared_ptr<WritingWork>> dropped;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  for (std::shared_ptr<WritingWork>& work : arrived_)
    if (!work->wanted()) dropped.push_back(std::move(work));
  waiting_ -= static_cast<std::int64_t>(std::erase(arrived_, nullptr));
}

void Writer::run() {
  while (wait_for_work()) {
    leave();
    join();
    if (batch_.size() > 0) step();
    writing_ = batch_.size();
  }
}

// false: this is the end. What has arrived is then among the requests.
bool Writer::wait_for_work() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return ending_ || !arrived_.empty() || !requests_.empty(); });
  for (std::shared_ptr<WritingWork>& work : arrived_) requests_.push_back({.work = std::move(work)});
  arrived_.clear();
  return !requests_.empty();
}

void Writer::leave() {
  for (auto place = requests_.begin(); place != requests_.end();) {
    const auto request = place++;
    if (!request->work->wanted()) {
      remove(request);
      continue;
    }
    if (!request->work->in_time) continue;
    try {
      request->work->in_time();
    } catch (...) {
      fail(request, std::current_exception());
    }
  }
}

void Writer::join() {
  for (;;) {
    auto chosen = requests_.end();
    for (auto request = requests_.begin(); request != requests_.end(); ++request) {
      if (request->next == request->work->texts.size()) continue;
      if (chosen == requests_.end() || request->live.size() < chosen->live.size()) chosen = request;
    }
    if (chosen == requests_.end()) return;
    WritingWork& work = *chosen->work;
    const std::size_t text = chosen->next;
    if (!has_room_for(work.texts[text])) return;
    try {
      if (text == 0) {
        work.begun = Clock::now();
        --waiting_;
      }
      ++chosen->next;
      if (work.begun_with) work.begun_with(text);
      const WantedText& wanted = work.texts[text];
      const GeneratorBatch::Id id = batch_.add(wanted.prompt, wanted.options, work.ends_without_room);
      chosen->live.emplace(id, text);
      reserved_.emplace(id, most_tokens(wanted));
    } catch (...) {
      fail(chosen, std::current_exception());
    }
  }
}

std::int64_t Writer::most_tokens(const WantedText& text) const {
  const std::int64_t most = generator_.model().transformer().description().max_tokens();
  const std::int64_t wanted =
      text.options.max_tokens.value_or(generator_.defaults().max_tokens.value_or(kUsualTokens));
  return std::min(most, std::ssize(text.prompt) + wanted);
}

bool Writer::has_room_for(const WantedText& text) const {
  if (batch_.size() == 0) return true;
  std::int64_t reserved = most_tokens(text);
  for (const auto& [id, tokens] : reserved_) reserved += tokens;
  return batch_.size() < options_.texts && reserved <= options_.total_tokens;
}

void Writer::step() {
  std::vector<GeneratorBatch::Ended> all;
  const std::int64_t texts = batch_.size();
  try {
    all = batch_.step();
  } catch (...) {  // such as a lack of memory: of all of them, since nobody knows whose fault it is
    for (auto place = requests_.begin(); place != requests_.end();) {
      const auto request = place++;
      if (!request->live.empty()) fail(request, std::current_exception());
    }
    return;
  }
  for (GeneratorBatch::Ended& ended : all) end(std::move(ended));
  if (stepped_) stepped_(texts);
}

void Writer::end(GeneratorBatch::Ended ended) {
  const auto request =
      std::ranges::find_if(requests_, [&](const Request& one) { return one.live.contains(ended.id); });
  if (request == requests_.end()) return;  // another text of it has failed in the same step
  reserved_.erase(ended.id);
  const std::size_t text = request->live.extract(ended.id).mapped();
  if (ended.failure) return fail(request, ended.failure);
  try {
    request->work->written(text, std::move(ended.written));
  } catch (...) {
    return fail(request, std::current_exception());
  }
  if (!request->live.empty() || request->next < request->work->texts.size()) return;
  const std::shared_ptr<WritingWork> work = request->work;
  remove(request);
  work->finished = Clock::now();
  work->done();
}

void Writer::fail(Place request, std::exception_ptr failure) {
  const std::shared_ptr<WritingWork> work = request->work;
  remove(request);
  work->failure = std::move(failure);
  work->finished = Clock::now();
  if (work->begun == Clock::time_point{}) work->begun = work->finished;
  work->done();
}

void Writer::remove(Place request) {
  for (const auto& [id, text] : request->live) {
    batch_.remove(id);
    reserved_.erase(id);
  }
  if (request->next == 0) --waiting_;
  requests_.erase(request);
}

std::int64_t Writer::waiting_requests() const { return waiting_; }

}  // namespace attend::serve
