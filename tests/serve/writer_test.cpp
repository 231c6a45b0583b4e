// Who writes when, and what happens to requests that fail, come too late or that nobody wants.
#include "serve/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>

#include "model/letters_tokenizer.h"
#include "support/temporary_folder.h"

namespace attend::serve {
namespace {

// A request that tells when it is done, or failed.
struct AwaitedTexts {
  explicit AwaitedTexts(std::size_t texts, std::int64_t tokens, std::int32_t first = 1) {
    for (std::size_t i = 0; i < texts; ++i)
      work->texts.push_back(
          {.prompt = {first, static_cast<std::int32_t>(i)},
           .options = {.max_tokens = tokens, .sampling = {.temperature = 0}, .ignore_end = true}});
    work->wanted = [] { return true; };
    work->written = [this](std::size_t text, const Generated& one) { found[text] = one; };
    work->done = [this] { promise.set_value(); };
    found.resize(texts);
  }
  void wait() { promise.get_future().get(); }

  std::shared_ptr<WritingWork> work = std::make_shared<WritingWork>();
  std::vector<Generated> found{};
  std::promise<void> promise{};
};

class WriterTest : public testing::Test {
 protected:
  WriterTest() {
    for (const char* const name : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(std::filesystem::path(ATTEND_GOLDEN_DECODERS) / "llama" / name,
                                 folder_ / name);
    folder_.write("tokenizer.json", letters());
  }
  TextModel model() const { return TextModel::load(folder_.path().string()); }
  std::string alone(const WantedText& text) const {
    return Generator(model()).generate(text.prompt, text.options).text;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(WriterTest, LetsThoseGoFirstWhoHaveTheFewestTexts) {
  std::atomic<std::int64_t> most = 0;
  AwaitedTexts many(8, 30), few(1, 5, 2);
  std::promise<void> added;
  std::vector<std::string> order;
  many.work->begun_with = [&](std::size_t text) {
    if (text == 0) added.get_future().get();  // so both are there when the second text joins
    order.push_back("many");
  };
  few.work->begun_with = [&](std::size_t) { order.emplace_back("few"); };
  {
    Writer writer(model(), {.texts = 2}, [&](std::int64_t texts) { most = std::max(most.load(), texts); });
    writer.add(many.work);
    writer.add(few.work);
    added.set_value();
  }  // after all of it
  many.wait();
  few.wait();
  EXPECT_EQ(most, 2);
  ASSERT_EQ(order.size(), 9U);
  // Two of the many may have joined before it came, and a third with it; in turn it would be the last.
  EXPECT_LE(std::ranges::find(order, "few") - order.begin(), 3);
  for (std::size_t i = 0; i < many.found.size(); ++i) {
    EXPECT_EQ(many.found[i].text, alone(many.work->texts[i]));
    EXPECT_EQ(many.found[i].tokens.size(), 30U);
  }
}

TEST_F(WriterTest, KeepsToItsTokens) {
  std::atomic<std::int64_t> most = 0;
  AwaitedTexts request(4, 20), large(1, 60);
  {
    Writer writer(model(), {.total_tokens = 50},
                  [&](std::int64_t texts) { most = std::max(most.load(), texts); });
    writer.add(large.work);  // more than that: alone
    writer.add(request.work);
  }
  request.wait();
  large.wait();
  EXPECT_EQ(most, 2);
  EXPECT_EQ(large.found[0].tokens.size(), 60U);
}

TEST_F(WriterTest, LetsGoOfWhatNobodyWants) {
  std::atomic<bool> wanted = true;
  auto gone = std::make_unique<AwaitedTexts>(2, 1'000'000);
  std::promise<void> begun;
  gone->work->wanted = [&] { return wanted.load(); };
  gone->work->texts[0].options.on_token = [&, told = false](const GeneratedToken&) mutable {
    if (!told) begun.set_value();
    return told = true;
  };
  gone->work->done = [] { FAIL() << "nobody waits for it"; };
  const std::weak_ptr<WritingWork> work = gone->work;
  Writer writer(model(), {});
  writer.add(std::move(gone->work));
  begun.get_future().get();
  AwaitedTexts other(1, 6);
  writer.add(other.work);
  wanted = false;
  other.wait();
  while (writer.texts() > 0) std::this_thread::yield();
  EXPECT_TRUE(work.expired());
  EXPECT_EQ(other.found[0].text, alone(other.work->texts[0]));
  EXPECT_EQ(writer.waiting_requests(), 0);
}

TEST_F(WriterTest, FailsOneRequestAndNotTheOthers) {
  AwaitedTexts late(1, 1'000'000), failing(2, 1'000'000), good(2, 10);
  late.work->in_time = [count = 0]() mutable {
    if (++count == 5) throw std::runtime_error("too late");
  };
  failing.work->texts[1].options.on_token = [](const GeneratedToken&) -> bool {
    throw std::runtime_error("its text cannot be told");
  };
  AwaitedTexts refused(1, 5);
  refused.work->texts[0].prompt = {1, 64};  // no such token
  {
    Writer writer(model(), {});
    for (const AwaitedTexts* const request : {&late, &failing, &good, &refused}) writer.add(request->work);
  }
  for (AwaitedTexts* const request : {&late, &failing, &good, &refused}) request->wait();
  EXPECT_THROW(std::rethrow_exception(late.work->failure), std::runtime_error);
  EXPECT_THROW(std::rethrow_exception(failing.work->failure), std::runtime_error);
  EXPECT_THROW(std::rethrow_exception(refused.work->failure), std::invalid_argument);
  EXPECT_FALSE(good.work->failure);
  EXPECT_EQ(good.found[1].text, alone(good.work->texts[1]));
}

}  // namespace
}  // namespace attend::serve
