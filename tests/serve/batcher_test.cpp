// What is computed together, in what order, and what happens to work that fails or that nobody wants.
#include "serve/batcher.h"

#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <stdexcept>

#include "lens/golden_reading.h"

namespace attend::serve {
namespace {

Encoding encoding_of(std::vector<std::int32_t> ids) {
  Encoding tokens;
  tokens.type_ids.resize(ids.size());
  tokens.ids = std::move(ids);
  return tokens;
}

// A work that tells when it is done, with the size of each of the batches until then.
struct Awaited {
  explicit Awaited(std::vector<Encoding> texts, std::shared_ptr<const TextModel> model) {
    work->model = std::move(model);
    work->texts = std::move(texts);
    work->wanted = [] { return true; };
    work->done = [this](Work&) { promise.set_value(); };
  }
  void wait() { promise.get_future().get(); }
  std::shared_ptr<Work> work = std::make_shared<Work>();
  std::promise<void> promise;
};

class BatcherTest : public testing::Test {
 protected:
  BatcherTest() : golden_("bert"), model_(std::make_shared<const TextModel>(golden_.load())) {}

  std::vector<Encoding> texts(int count, int length = 5) const {
    std::vector<Encoding> list;
    for (int i = 0; i < count; ++i) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
      for (int j = 0; j < length; ++j) ids[static_cast<std::size_t>(j)] = (i * 7 + j * 3) % 60;
      list.push_back(encoding_of(ids));
    }
    return list;
  }

  // Work that keeps the thread until it is let go.
  std::shared_ptr<Work> gate() {
    const auto work = std::make_shared<Work>();
    work->task = [this] { open_.get_future().get(); };
    work->wanted = [] { return true; };
    work->done = [](Work&) {};
    return work;
  }

  GoldenModel golden_;
  std::shared_ptr<const TextModel> model_;
  std::promise<void> open_;
};

TEST_F(BatcherTest, TakesWhatWaitsInItsOrderAndWithinTheLimit) {
  std::vector<std::int64_t> batches;
  Awaited first(texts(3), model_), second(texts(4), model_), third(texts(1, 40), model_);
  {
    Batcher batcher({.batch_tokens = 20},
                    [&](std::int64_t, std::int64_t tokens) { batches.push_back(tokens); });
    batcher.add(gate());
    for (Awaited* awaited : {&first, &second, &third}) EXPECT_TRUE(batcher.add(awaited->work));
    open_.set_value();
    for (Awaited* awaited : {&first, &second, &third}) awaited->wait();
    EXPECT_EQ(batcher.waiting_tokens(), 0);
  }
  // 15 and 5 of the second; the rest of it; one that is longer than a batch may be goes alone.
  EXPECT_EQ(batches, (std::vector<std::int64_t>{0, 20, 15, 40}));
  const Tensor alone = model_->embed(second.work->texts, {.normalize = false});
  ASSERT_EQ(second.work->vectors.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto row =
        copy_of(alone.view().slice(0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1));
    EXPECT_TRUE(std::ranges::equal(second.work->vectors[i].values<float>(), row.values<float>()));
  }
}

TEST_F(BatcherTest, TakesAQuarterOfWhatWaits) {
  std::vector<std::int64_t> batches;
  Awaited many(texts(240), model_);  // 1,200 tokens
  {
    Batcher batcher({}, [&](std::int64_t, std::int64_t tokens) { batches.push_back(tokens); });
    batcher.add(gate());
    while (batcher.waiting_requests() > 0) std::this_thread::yield();
    batcher.add(many.work);
    open_.set_value();
    many.wait();
  }
  ASSERT_GT(batches.size(), 4u);
  EXPECT_EQ(std::vector(batches.begin(), batches.begin() + 4), (std::vector<std::int64_t>{0, 300, 225, 165}));
  EXPECT_EQ(batches[4], 125);  // of at most 128, however few tokens wait
  EXPECT_EQ(std::accumulate(batches.begin(), batches.end(), std::int64_t{0}), 1200);
}

TEST_F(BatcherTest, OneOfManyTextsLetsOthersPass) {
  Awaited many(texts(2000), model_), few(texts(2), model_);
  Batcher batcher({.batch_tokens = 20});
  batcher.add(gate());
  batcher.add(many.work);
  batcher.add(few.work);
  open_.set_value();
  few.wait();
  many.wait();
  EXPECT_LT(few.work->finished, many.work->finished);
  ASSERT_EQ(many.work->vectors.size(), 2000u);  // in their order
  const Tensor alone = model_->embed(std::span(many.work->texts).last(1), {.normalize = false});
  EXPECT_TRUE(std::ranges::equal(many.work->vectors.back().values<float>(), alone.values<float>()));
}

TEST_F(BatcherTest, RefusesWhatWaitsTooLong) {
  Awaited first(texts(2), model_), late(texts(3), model_), last(texts(1), model_);
  late.work->in_time = [] { throw std::runtime_error("too late"); };
  Batcher batcher({});
  batcher.add(gate());
  for (Awaited* awaited : {&first, &late, &last}) batcher.add(awaited->work);
  open_.set_value();
  for (Awaited* awaited : {&first, &late, &last}) awaited->wait();
  EXPECT_THROW(std::rethrow_exception(late.work->failure), std::runtime_error);
  EXPECT_TRUE(late.work->vectors.empty());
  EXPECT_EQ(first.work->vectors.size(), 2u);
  EXPECT_EQ(last.work->vectors.size(), 1u);
  EXPECT_EQ(batcher.waiting_tokens(), 0);
}

TEST_F(BatcherTest, OneThatFailsFailsAlone) {
  Awaited good(texts(2), model_), bad({encoding_of({1, 1'000'000})}, model_), last(texts(1), model_);
  {
    Batcher batcher({});
    batcher.add(gate());
    for (Awaited* awaited : {&good, &bad, &last}) batcher.add(awaited->work);
    open_.set_value();
    for (Awaited* awaited : {&good, &bad, &last}) awaited->wait();
  }
  EXPECT_FALSE(good.work->failure);
  EXPECT_EQ(good.work->vectors.size(), 2u);
  EXPECT_THROW(std::rethrow_exception(bad.work->failure), std::invalid_argument);
  EXPECT_EQ(last.work->vectors.size(), 1u);
}

TEST_F(BatcherTest, RefusesWhenTooMuchWaits) {
  Awaited large(texts(10), model_), more(texts(1), model_);
  Batcher batcher({.waiting_tokens = 20});
  batcher.add(gate());
  while (batcher.waiting_requests() > 0) std::this_thread::yield();
  EXPECT_TRUE(batcher.add(large.work));  // nothing else waits
  EXPECT_FALSE(batcher.add(more.work));
  open_.set_value();
  large.wait();
}

TEST_F(BatcherTest, NobodyWaitsForWhatIsUnwanted) {
  std::atomic<bool> wanted = true;
  const auto unwanted = std::make_shared<Work>();
  unwanted->model = model_;
  unwanted->texts = texts(2);
  unwanted->wanted = [&] { return wanted.load(); };
  unwanted->done = [](Work&) { ADD_FAILURE(); };
  std::weak_ptr<Work> first = unwanted;
  Awaited last(texts(1), model_);
  Batcher batcher({});
  batcher.add(gate());
  while (batcher.waiting_requests() > 0) std::this_thread::yield();
  batcher.add(unwanted);
  batcher.add(last.work);
  batcher.drop_unwanted();
  EXPECT_EQ(batcher.waiting_tokens(), 15);
  wanted = false;
  batcher.drop_unwanted();
  EXPECT_EQ(batcher.waiting_tokens(), 5);
  EXPECT_EQ(first.use_count(), 1);  // ours
  batcher.add(unwanted);            // this time its turn comes
  open_.set_value();
  last.wait();
  while (batcher.waiting_requests() > 0) std::this_thread::yield();
}

}  // namespace
}  // namespace attend::serve
