#include "text/post_processor.h"

#include <algorithm>
#include <utility>

#include "text/vocabulary.h"

namespace attend::text {

void append_special(Encoding& encoding, std::int32_t id, std::int32_t type_id) {
  encoding.ids.push_back(id);
  encoding.type_ids.push_back(type_id);
  encoding.offsets.push_back({});
  encoding.words.push_back(-1);
  encoding.special.push_back(1);
}

void append(Encoding& encoding, const Encoding& other) {
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(encoding.ids, other.ids);
  add(encoding.type_ids, other.type_ids);
  add(encoding.offsets, other.offsets);
  add(encoding.words, other.words);
  add(encoding.special, other.special);
  encoding.dropped += other.dropped;
}

namespace {

// Takes white space off both ends of every offset; a space that was only put in front of the text is none of
// its own.
void trim_offsets(Part& part, bool add_prefix_space) {
  for (std::size_t i = 0; i < part.encoding.size(); ++i) {
    TextSpan& span = part.encoding.offsets[i];
    auto before = static_cast<std::int32_t>(part.white_before[i]);
    const auto after = static_cast<std::int32_t>(part.white_after[i]);
    if (before > 0) {
      if ((i == 0 || span.begin == 0) && add_prefix_space && before == 1) before = 0;
      span.begin = std::min(span.begin + before, span.end);
    }
    if (after > 0 && span.end >= after) span.end = std::max(span.end - after, span.begin);
  }
}

class ByteLevelProcessor final : public PostProcessor {
 public:
  ByteLevelProcessor(bool trim, bool add_prefix_space) : trim_(trim), add_prefix_space_(add_prefix_space) {}
  std::int64_t added(bool) const override { return 0; }
  bool trims() const override { return trim_; }
  void apply(std::vector<Part>& parts, bool) const override {
    for (Part& part : parts) {
      if (trim_) trim_offsets(part, add_prefix_space_);
    }
  }
  void ids(std::vector<std::int64_t>&) const override {}

 private:
  bool trim_, add_prefix_space_;
};

// [CLS] A [SEP] B [SEP] with types 0 and 1 for BERT; <s> A </s> </s> B </s>, all of type 0, for RoBERTa.
class ClsSep final : public PostProcessor {
 public:
  ClsSep(std::int32_t cls, std::int32_t sep) : cls_(cls), sep_(sep) {}
  ClsSep(std::int32_t cls, std::int32_t sep, bool trim, bool add_prefix_space)
      : cls_(cls), sep_(sep), roberta_(true), trim_(trim), add_prefix_space_(add_prefix_space) {}

  std::int64_t added(bool pair) const override { return !pair ? 2 : roberta_ ? 4 : 3; }
  bool trims() const override { return trim_; }

  void apply(std::vector<Part>& parts, bool add_special_tokens) const override {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Encoding& encoding = parts[i].encoding;
      if (trim_) trim_offsets(parts[i], add_prefix_space_);
      if (roberta_) std::fill(encoding.type_ids.begin(), encoding.type_ids.end(), 0);
      if (!add_special_tokens) continue;
      const std::int32_t type = i == 0 || roberta_ ? 0 : 1;
      Encoding around;
      if (i == 0) append_special(around, cls_, type);
      if (i != 0 && roberta_) append_special(around, sep_, type);
      append(around, encoding);
      append_special(around, sep_, type);
      encoding = std::move(around);
    }
  }
  void ids(std::vector<std::int64_t>& out) const override { out.insert(out.end(), {cls_, sep_}); }

 private:
  std::int32_t cls_, sep_;
  bool roberta_ = false, trim_ = false, add_prefix_space_ = false;
};

class Template final : public PostProcessor {
 public:
  // One text, or the special tokens of one name.
  struct Step {
    int sequence = -1;
    std::int32_t type_id = 0;
    std::vector<std::int32_t> ids;
  };
  using Steps = std::vector<Step>;

  Template(Steps single, Steps pair) : single_(std::move(single)), pair_(std::move(pair)) {}

  std::int64_t added(bool pair) const override {
    std::int64_t count = 0;
    for (const Step& step : pair ? pair_ : single_) count += static_cast<std::int64_t>(step.ids.size());
    return count;
  }

  void apply(std::vector<Part>& parts, bool add_special_tokens) const override {
    const Steps& steps = parts.size() == 2 ? pair_ : single_;
    Part whole;
    for (const Step& step : steps) {
      if (step.sequence < 0) {
        for (std::size_t i = 0; add_special_tokens && i < step.ids.size(); ++i) {
          append_special(whole.encoding, step.ids[i], step.type_id);
        }
        continue;
      }
      Encoding& encoding = parts[static_cast<std::size_t>(step.sequence)].encoding;
      std::fill(encoding.type_ids.begin(), encoding.type_ids.end(), step.type_id);
      append(whole.encoding, encoding);
    }
    parts.clear();
    parts.push_back(std::move(whole));
  }
  void ids(std::vector<std::int64_t>& out) const override {
    for (const Steps* steps : {&single_, &pair_}) {
      for (const Step& step : *steps) out.insert(out.end(), step.ids.begin(), step.ids.end());
    }
  }

 private:
  Steps single_, pair_;
};

// Special tokens around a text: files have a few. A name may stand for a list of them, and stand there often.
constexpr std::size_t kMostAdded = 4096;

Template::Steps read_template(const io::JsonValue& pieces, const io::JsonValue& special_tokens, bool pair) {
  Template::Steps steps;
  std::size_t added = 0;
  for (const io::JsonValue piece : pieces.elements(kMostAdded)) {
    piece.only_keys({"Sequence", "SpecialToken"});
    Template::Step step;
    if (const auto sequence = piece.find("Sequence")) {
      const io::JsonValue id = sequence->only_keys({"id", "type_id"}).at("id");
      if (id.string() != "A" && id.string() != "B") id.fail(io::quoted(id.string()), " is neither A nor B");
      step.sequence = id.string() == "B";
      if (step.sequence == 1 && !pair) id.fail("is B, where there is one text only");
      step.type_id = static_cast<std::int32_t>(sequence->at("type_id").integer(0, 1 << 20));
    } else {
      const io::JsonValue token = piece.at("SpecialToken").only_keys({"id", "type_id"});
      const io::JsonValue id = token.at("id");
      const auto described = special_tokens.find(id.string());
      if (!described) id.fail(io::quoted(id.string()), " is not among special_tokens");
      step.type_id = static_cast<std::int32_t>(token.at("type_id").integer(0, 1 << 20));
      for (const io::JsonValue value : described->at("ids").elements(kMostAdded)) {
        step.ids.push_back(static_cast<std::int32_t>(value.integer(0, kMaxId)));
      }
      if ((added += step.ids.size()) > kMostAdded)
        pieces.fail("adds more than ", kMostAdded, " special tokens to a text");
    }
    steps.push_back(std::move(step));
  }
  for (int sequence = 0; sequence <= static_cast<int>(pair); ++sequence) {
    const auto uses =
        std::count_if(steps.begin(), steps.end(), [&](const auto& s) { return s.sequence == sequence; });
    if (uses != 1) pieces.fail("uses text ", sequence == 0 ? "A " : "B ", uses, " times, expected once");
  }
  return steps;
}

std::unique_ptr<const PostProcessor> read_template_processing(const io::JsonValue& processor) {
  processor.only_keys({"type", "single", "pair", "special_tokens"});
  const io::JsonValue special_tokens = processor.at("special_tokens");
  for (const auto& [name, token] : special_tokens.members()) {
    token.only_keys({"id", "ids", "tokens"});
    if (token.at("ids").elements().size() != token.at("tokens").elements().size()) {
      token.fail("has another number of ids than of tokens");
    }
  }
  return std::make_unique<Template>(read_template(processor.at("single"), special_tokens, false),
                                    read_template(processor.at("pair"), special_tokens, true));
}

class PostProcessorSequence final : public PostProcessor {
 public:
  explicit PostProcessorSequence(std::vector<std::unique_ptr<const PostProcessor>> steps)
      : steps_(std::move(steps)) {}
  std::int64_t added(bool pair) const override {
    std::int64_t count = 0;
    for (const auto& step : steps_) count += step->added(pair);
    return count;
  }
  bool trims() const override {
    return std::any_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->trims(); });
  }
  void apply(std::vector<Part>& parts, bool add_special_tokens) const override {
    for (const auto& step : steps_) step->apply(parts, add_special_tokens);
  }
  void ids(std::vector<std::int64_t>& out) const override {
    for (const auto& step : steps_) step->ids(out);
  }

 private:
  std::vector<std::unique_ptr<const PostProcessor>> steps_;
};

std::unique_ptr<const PostProcessor> read_post_processors(const io::JsonValue& sequence) {
  sequence.only_keys({"type", "processors"});
  std::vector<std::unique_ptr<const PostProcessor>> steps;
  bool complete = false;
  for (const io::JsonValue step : sequence.at("processors").elements()) {
    if (complete) step.fail("comes after a post-processor that has put the texts together");
    if (step.type() == "Sequence")
      step.fail("a sequence within a sequence of post-processors is not supported");
    complete = step.type() != "ByteLevel";
    steps.push_back(read_post_processor(step));
  }
  return std::make_unique<PostProcessorSequence>(std::move(steps));
}

// ["[SEP]", 102]
std::int32_t read_named_id(const io::JsonValue& pair) {
  const io::JsonValue::Elements values = pair.elements();
  if (values.size() != 2) pair.fail("expected a token and its id");
  values[0].string();
  return static_cast<std::int32_t>(values[1].integer(0, kMaxId));
}

}  // namespace

std::unique_ptr<const PostProcessor> make_bert_processor(std::int32_t cls, std::int32_t sep) {
  return std::make_unique<ClsSep>(cls, sep);
}

std::unique_ptr<const PostProcessor> read_post_processor(const io::JsonValue& processor) {
  const std::string_view type = processor.type();
  if (type == "Sequence") return read_post_processors(processor);
  if (type == "TemplateProcessing") return read_template_processing(processor);
  if (type == "BertProcessing") {
    processor.only_keys({"type", "sep", "cls"});
    return make_bert_processor(read_named_id(processor.at("cls")), read_named_id(processor.at("sep")));
  }
  if (type == "RobertaProcessing") {
    processor.only_keys({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
    return std::make_unique<ClsSep>(read_named_id(processor.at("cls")), read_named_id(processor.at("sep")),
                                    processor.at("trim_offsets").boolean(),
                                    processor.at("add_prefix_space").boolean());
  }
  if (type == "ByteLevel") {
    processor.only_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    return std::make_unique<ByteLevelProcessor>(processor.at("trim_offsets").boolean(),
                                                processor.at("add_prefix_space").boolean());
  }
  processor.fail("the post-processor ", io::quoted(type), " is not supported");
}

}  // namespace attend::text
