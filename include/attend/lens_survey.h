// What each head does over many texts: its habits with their spread, and how strongly it links words of one
// kind to words of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <attend/lens.h>
#include <attend/lens_heads.h>
#include <attend/word_kinds.h>

namespace attend {

// A measure of a head, each text counting once.
struct Spread {
  double mean = 0;
  double deviation = 0;  // the standard deviation over the texts; 0 of a single one
};

struct HabitCount {
  std::string_view habit;  // as habit_of() names it
  std::int64_t texts = 0;
};

struct SurveyedHead {
  std::int64_t layer = 0, head = 0;
  // As in HeadProfile. Of duplicate and induction only texts count in which a token occurs again.
  Spread previous{}, next{}, same_token{}, same_word{}, first{}, separator{}, duplicate{}, induction{},
      entropy{}, broad{};
  std::vector<HabitCount> habits{};  // the most frequent first
};

class HeadSurvey {
 public:
  // Readings are of one model. Returns false, and counts nothing, where not all numbers are finite.
  bool add(const Reading& reading);

  std::int64_t texts() const noexcept { return texts_; }
  std::vector<SurveyedHead> heads() const;  // in order

 private:
  struct Tally {
    std::int64_t texts = 0;
    double mean = 0, squares = 0;  // as Welford sums them, without losing digits
  };
  struct Head {
    std::int64_t layer = 0, head = 0;
    std::vector<Tally> measures;
    std::vector<HabitCount> habits;
  };

  std::int64_t texts_ = 0;
  std::vector<Head> heads_;
};

// A link between two words of one text, by one head.
struct LinkExample {
  std::int64_t text = 0;         // a number that the caller gave it
  std::size_t from = 0, to = 0;  // places in Reading::words()
  double weight = 0;
};

struct KindLink {
  std::int64_t layer = 0, head = 0;
  double weight = 0;  // what words of the first kind give to words of the second, on average
  double others = 0;  // what all other words give to those: a head that likes them from anywhere has as much
};

// How strongly heads link words of one kind to words of another.
class LinkSurvey {
 public:
  LinkSurvey(WordKinds from, WordKinds to);

  // Returns how many words of the first kind it has, if it has words of the second besides.
  std::int64_t add(const Reading& reading);
  // The strongest link of the kind in one head; weight 0 where there is none.
  LinkExample strongest(const Reading& reading, std::int64_t text, const HeadChoice& head) const;

  std::int64_t texts() const noexcept { return texts_; }  // that have such words
  std::int64_t words() const noexcept { return words_; }  // of the first kind, in those
  std::vector<KindLink> heads() const;                    // the one with most weight beyond `others` first
  const WordKinds& from() const noexcept { return from_; }
  const WordKinds& to() const noexcept { return to_; }

 private:
  WordKinds from_, to_;
  struct Head {
    std::int64_t layer = 0, head = 0;
    std::int64_t words = 0, others = 0;
    double weight = 0, by_others = 0;  // sums over these
  };
  std::int64_t texts_ = 0, words_ = 0;
  std::vector<Head> heads_;
};

}  // namespace attend
