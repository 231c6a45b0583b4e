#include "serve/batcher.h"

#include <algorithm>
#include <utility>

namespace attend::serve {
namespace {

std::int64_t size_of(const Encoding& text) { return static_cast<std::int64_t>(text.size()); }

}  // namespace

std::int64_t Work::tokens() const noexcept {
  std::int64_t sum = 0;
  for (const Encoding& text : texts) sum += size_of(text);
  return sum;
}

Batcher::Batcher(const BatcherOptions& options, std::function<void(std::int64_t, std::int64_t)> computed)
    : options_(options), computed_(std::move(computed)), thread_([this] { run(); }) {}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool Batcher::add(std::shared_ptr<Work> work) {
  const std::int64_t tokens = work->tokens();
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.empty() && waiting_tokens_ + tokens > options_.waiting_tokens) return false;
    waiting_tokens_ += tokens;
    work->queued = Clock::now();
    waiting_.push_back({std::move(work)});
  }
  wake_.notify_one();
  return true;
}

void Batcher::drop_unwanted() {
  std::vector<std::shared_ptr<Work>>
      dropped;  // destroyed without the lock: that is the end of their requests
  const std::lock_guard lock(mutex_);
  for (auto place = waiting_.begin(); place != waiting_.end();) {
    if (place->next > 0 || place->work->wanted()) {  // of what was begun, the computing thread takes care
      ++place;
      continue;
    }
    waiting_tokens_ -= place->work->tokens();
    dropped.push_back(std::move(place->work));
    place = waiting_.erase(place);
  }
}

std::int64_t Batcher::waiting_tokens() const {
  const std::lock_guard lock(mutex_);
  return waiting_tokens_;
}

std::int64_t Batcher::waiting_requests() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(waiting_.size());
}

void Batcher::run() {
  for (;;) {
    const std::vector<Part> parts = take();
    if (parts.empty()) return;
    compute(parts);
  }
}

// Waits for work; empty at the end. All parts are of one model and one kind.
std::vector<Batcher::Part> Batcher::take() {
  std::unique_lock lock(mutex_);
  std::vector<Part> parts;
  std::int64_t tokens = 0;
  while (parts.empty()) {
    wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return parts;
    while (!waiting_.empty()) {
      Waiting& head = waiting_.front();
      Work& work = *head.work;
      if (!work.wanted()) {  // its client has gone
        for (std::size_t i = head.next; i < work.texts.size(); ++i) waiting_tokens_ -= size_of(work.texts[i]);
        std::shared_ptr<Work> dropped = std::move(head.work);
        waiting_.pop_front();
        lock.unlock();
        dropped.reset();  // the end of its request, which must not wait for the lock
        lock.lock();
        continue;
      }
      if (!parts.empty() && (work.task || parts[0].work->task || work.model != parts[0].work->model ||
                             work.result != parts[0].work->result))
        break;
      if (head.next == 0) work.begun = Clock::now();
      Part part{head.work, head.next, head.next};
      while (part.last < work.texts.size()) {
        const std::int64_t more = size_of(work.texts[part.last]);
        if (tokens > 0 && tokens + more > options_.batch_tokens) break;
        tokens += more;
        ++part.last;
      }
      const bool whole = part.last == work.texts.size();
      if (part.last > part.first || whole) parts.push_back(part);
      if (!whole) {
        head.next = part.last;
        break;
      }
      waiting_.pop_front();
    }
  }
  waiting_tokens_ -= tokens;
  return parts;
}

void Batcher::compute(const std::vector<Part>& parts) {
  try {
    compute_together(parts);
  } catch (const std::exception&) {
    // One of them is at fault, and only that one fails.
    for (const Part& part : parts) {
      try {
        if (parts.size() == 1) throw;
        compute_together({part});
      } catch (const std::exception&) {
        part.work->failure = std::current_exception();
      }
    }
  }
  std::int64_t texts = 0, tokens = 0;
  for (const Part& part : parts) {
    texts += static_cast<std::int64_t>(part.last - part.first);
    for (std::size_t i = part.first; i < part.last; ++i) tokens += size_of(part.work->texts[i]);
    if (part.last < part.work->texts.size()) continue;  // the rest of it is still to come
    part.work->finished = Clock::now();
    part.work->done(*part.work);
  }
  if (computed_) computed_(texts, tokens);
}

void Batcher::compute_together(const std::vector<Part>& parts) {
  const Work& first = *parts[0].work;
  if (first.task) return first.task();
  std::vector<Encoding> texts;
  for (const Part& part : parts)
    texts.insert(texts.end(), part.work->texts.begin() + static_cast<std::ptrdiff_t>(part.first),
                 part.work->texts.begin() + static_cast<std::ptrdiff_t>(part.last));
  Tensor rows;
  std::vector<std::int64_t> ends{0};  // of the rows of each text
  if (first.result == Result::token_vectors) {
    TokenBatch batch;
    for (const Encoding& text : texts) batch.add(text.ids, text.type_ids);
    rows = first.model->transformer().forward(batch);
    first.model->require_intact();
    ends = batch.ends;
  } else {
    rows = first.result == Result::scores ? first.model->predict(texts, {.function = ScoreFunction::identity})
                                          : first.model->embed(texts, {.normalize = false});
    for (std::size_t i = 0; i < texts.size(); ++i) ends.push_back(ends.back() + 1);
  }
  std::size_t text = 0;
  for (const Part& part : parts) {
    for (std::size_t i = part.first; i < part.last; ++i, ++text)
      part.work->vectors.push_back(copy_of(rows.view().slice(0, ends[text], ends[text + 1])));
  }
}

}  // namespace attend::serve
