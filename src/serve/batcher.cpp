#include "serve/batcher.h"

#include <algorithm>
#include <utility>

namespace attend::serve {
namespace {

// However few tokens wait. Computing fewer at a time costs some of the speed.
constexpr std::int64_t kSmallBatch = 128;
// The share of the newest batch in the time that a token takes.
constexpr double kNewest = 0.1;

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

Clock::time_point Batcher::due(const Waiting& request) const {
  const Work& work = *request.work;
  const std::int64_t next = work.texts.empty() ? 0 : size_of(work.texts[request.next]);
  const std::chrono::duration<double> allowed(2 * seconds_per_token_ *
                                              static_cast<double>(request.tokens + next));
  return work.queued + std::chrono::duration_cast<Clock::duration>(allowed);
}

std::deque<Batcher::Waiting>::iterator Batcher::first_due() {
  return std::ranges::min_element(waiting_, {}, [this](const Waiting& request) { return due(request); });
}

// Waits for work; empty at the end. All parts are of one model and one kind.
std::vector<Batcher::Part> Batcher::take() {
  std::unique_lock lock(mutex_);
  std::vector<Part> parts;
  std::int64_t tokens = 0, most = 0;
  while (parts.empty()) {
    wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    refuse_late(lock);
    if (waiting_.empty()) {
      if (ending_) return parts;
      continue;
    }
    most =
        std::clamp(waiting_tokens_ / 4, std::min(kSmallBatch, options_.batch_tokens), options_.batch_tokens);
    while (!waiting_.empty()) {
      const auto place = first_due();
      Work& work = *place->work;
      if (!work.wanted()) {  // its client has gone
        for (std::size_t i = place->next; i < work.texts.size(); ++i)
          waiting_tokens_ -= size_of(work.texts[i]);
        std::shared_ptr<Work> dropped = std::move(place->work);
        waiting_.erase(place);
        lock.unlock();
        dropped.reset();  // the end of its request, which must not wait for the lock
        lock.lock();
        continue;
      }
      if (!parts.empty() && (work.task || parts[0].work->task || work.model != parts[0].work->model ||
                             work.result != parts[0].work->result))
        break;
      if (place->next == 0) work.begun = Clock::now();
      if (place->next < work.texts.size()) {
        const std::int64_t more = size_of(work.texts[place->next]);
        if (tokens > 0 && tokens + more > most) break;
        tokens += more;
        place->tokens += more;
        ++place->next;
        add_text(parts, place->work, place->next - 1);
      } else {
        parts.push_back({place->work, 0, 0});  // a task
      }
      if (place->next == work.texts.size()) waiting_.erase(place);
    }
  }
  waiting_tokens_ -= tokens;
  return parts;
}

// Of all that waits, not only of what would be next: who is told late can do nothing else meanwhile.
void Batcher::refuse_late(std::unique_lock<std::mutex>& lock) {
  std::vector<std::shared_ptr<Work>> late;
  for (auto place = waiting_.begin(); place != waiting_.end();) {
    Work& work = *place->work;
    try {
      if (work.in_time) work.in_time();
      ++place;
    } catch (...) {
      work.failure = std::current_exception();
      waiting_tokens_ -= work.tokens() - place->tokens;
      late.push_back(std::move(place->work));
      place = waiting_.erase(place);
    }
  }
  if (late.empty()) return;
  lock.unlock();
  for (const std::shared_ptr<Work>& work : late) {
    work->finished = Clock::now();
    if (work->begun == Clock::time_point{}) work->begun = work->finished;
    work->done(*work);
  }
  late.clear();
  lock.lock();
}

// The next text of a request, which may have others in this batch.
void Batcher::add_text(std::vector<Part>& parts, const std::shared_ptr<Work>& work, std::size_t text) {
  const auto known = std::ranges::find(parts, work, &Part::work);
  if (known == parts.end()) return parts.push_back({work, text, text + 1});
  ++known->last;
}

void Batcher::compute(const std::vector<Part>& parts) {
  const Clock::time_point start = Clock::now();
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
  const std::chrono::duration<double> taken = Clock::now() - start;
  std::int64_t texts = 0, tokens = 0;
  for (const Part& part : parts) {
    texts += static_cast<std::int64_t>(part.last - part.first);
    for (std::size_t i = part.first; i < part.last; ++i) tokens += size_of(part.work->texts[i]);
    if (part.last < part.work->texts.size()) continue;  // the rest of it is still to come
    part.work->finished = Clock::now();
    part.work->done(*part.work);
  }
  if (tokens > 0)
    seconds_per_token_ += kNewest * (taken.count() / static_cast<double>(tokens) - seconds_per_token_);
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
