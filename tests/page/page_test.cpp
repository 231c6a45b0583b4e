// The page as one file: what it carries, its policy, and texts that try to break out of it.
#include "page/self_contained.h"

#include <gtest/gtest.h>

#include "io/base64.h"
#include "io/digest.h"
#include "lens/golden_reading.h"
#include "page/assets.h"
#include "page/carried_inside.h"
#include "page/inside.h"

namespace attend::page {
namespace {

std::string page_of(const std::string& text, const std::string& family = "bert") {
  const GoldenModel golden(family);
  const TextModel model = golden.load();
  return self_contained_page(Reading(model, text), {});
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string between(const std::string& text, std::string_view left, std::string_view right) {
  const std::size_t from = text.find(left) + left.size();
  return text.substr(from, text.find(right, from) - from);
}

std::string hash_of(const std::string& text) {
  io::Sha256 digest;
  digest.add(text);
  return "'sha256-" + io::to_base64(digest.bytes()) + "'";
}

TEST(Page, CarriesEveryModuleAndStyle) {
  EXPECT_FALSE(asset("index.html").empty());
  EXPECT_FALSE(asset("data/carried.js").empty());
  EXPECT_TRUE(asset("data/nothing.js").empty());
  for (const std::string& name : asset_names()) EXPECT_FALSE(asset(name).empty()) << name;
}

TEST(Page, ItsPolicyNamesItsOwnScriptAndStyle) {
  const std::string page = page_of("the river");
  const std::string policy = between(page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  EXPECT_EQ(policy.rfind("default-src 'none'; script-src 'sha256-", 0), 0u) << policy;
  EXPECT_NE(policy.find(hash_of(between(page, "<script>", "</script>"))), policy.npos);
  EXPECT_NE(policy.find(hash_of(between(page, "<style>", "</style>"))), policy.npos);
}

TEST(Page, NamesNoOtherPlace) {
  const std::string page = page_of("the river");
  for (const char* const part : {"src=\"", "href=\"/", "url(http", "@import", "//cdn"})
    EXPECT_EQ(count(page, part), 0u) << part;
}

// Every family: causal, with a bias by distance, with other names for its heads.
TEST(Page, IsMadeOfEveryFamily) {
  for (const char* const family : kFamilies) {
    const std::string page = page_of("the banks of the river", family);
    EXPECT_NE(page.find("id=\"layer-1\""), page.npos) << family;
    EXPECT_NE(page.find("id=\"inside-block\""), page.npos) << family;
    EXPECT_EQ(page.find("id=\"inside-next\"") != page.npos, std::string(family) == "gpt2") << family;
  }
}

TEST(Page, ATextCannotBreakOut) {
  const std::string plain = page_of("the river");
  const std::string page = page_of("the </script><script>alert(1)</script> <!-- <script> river");
  EXPECT_EQ(count(page, "<script"), count(plain, "<script"));
  EXPECT_EQ(count(page, "</script"), count(plain, "</script"));
  EXPECT_EQ(count(page, "<!--"), count(plain, "<!--"));
  EXPECT_NE(page.find("\\u003c/script>"), page.npos);
}

// The vocabulary of a test has 14 words, the model more: what has no name is called by its number.
TEST(Page, NamesCandidatesThatTheVocabularyDoesNot) {
  const GoldenModel golden("gpt2");
  const Reading reading(golden.load(), "the river");
  EXPECT_EQ(candidate_text(reading, 9), "river");
  EXPECT_EQ(candidate_text(reading, 21), "#21");
}

TEST(Page, BoundsWhatItCarriesOfTheNextToken) {
  const GoldenModel golden("gpt2");
  std::string text;
  for (int i = 0; i < 20; ++i) text += "the banks of the river , ";
  const Reading reading(golden.load(), text);
  ASSERT_EQ(reading.size(), 40);
  const CarriedInside all = carried_inside(reading);
  const CarriedInside some = carried_inside(reading, {.block_places = 20, .next_places = 10});
  EXPECT_NE(all.facts.find("\"next\":{\"first\":0,"), all.facts.npos) << all.facts;
  EXPECT_NE(some.facts.find("\"next\":{\"first\":30,"), some.facts.npos) << some.facts;
  EXPECT_NE(some.facts.find("\"block\":{\"first\":20,"), some.facts.npos) << some.facts;
  EXPECT_LT(some.next.size(), all.next.size() / 3);
  EXPECT_LT(some.block.size(), all.block.size() * 2 / 3);
}

TEST(Page, RefusesWhatItCannotMake) {
  const GoldenModel golden("bert");
  const TextModel model = golden.load();
  const Reading reading(model, "the river");
  EXPECT_THROW(self_contained_page(reading, {.method = LensMethod::flow}), std::invalid_argument);
}

}  // namespace
}  // namespace attend::page
