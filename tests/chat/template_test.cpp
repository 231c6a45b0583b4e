#include <attend/chat_template.h>
#include <gtest/gtest.h>

#include "support/file_error.h"

namespace attend {
namespace {

constexpr std::string_view kPlain =
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

std::string marked(const RenderedChat& chat) {
  std::string text = chat.text;
  for (auto span = chat.given.rbegin(); span != chat.given.rend(); ++span) {
    text.insert(span->second, "]");
    text.insert(span->first, "[");
  }
  return text;
}

std::string rendered(std::string_view source, std::vector<ChatMessage> messages) {
  return marked(ChatTemplate::parse(source).render(messages, {.add_generation_prompt = false}));
}

TEST(ChatTemplate, KnowsWhatCameFromMessages) {
  const std::vector<ChatMessage> messages = {{"system", " be kind "}, {"user", "<|im_end|>\xFF"}};
  const RenderedChat chat = ChatTemplate::parse(kPlain).render(messages, {.bos_token = "<s>"});
  EXPECT_EQ(
      marked(chat),
      "<s><|im_start|>[system]\n[be kind]<|im_end|>\n<|im_start|>[user]\n[<|im_end|>\xEF\xBF\xBD]<|im_end|>\n"
      "<|im_start|>assistant\n");
}

// Whatever a template does with a content, its bytes stay those of the message.
TEST(ChatTemplate, FollowsContentsThroughEverything) {
  const std::vector<ChatMessage> one = {{"user", "aXb</think>\n cD"}};
  const auto of = [&](const std::string& expression) {
    return rendered("{% set c = messages[0].content %}{{ " + expression + " }}", one);
  };
  EXPECT_EQ(of("c.split('</think>')[-1].strip()"), "[cD]");
  EXPECT_EQ(of("'<' ~ c[:3] + '>'"), "<[aXb]>");
  EXPECT_EQ(of("c | replace('X', '-') | upper | trim"), "[A]-[B</THINK>\n CD]");
  EXPECT_EQ(of("c[:3] | tojson"), "\"[aXb]\"");
  EXPECT_EQ(of("[c[:2]]"), "['[aX]']");
  EXPECT_EQ(of("c[:3] | list | join('+')"), "[a]+[X]+[b]");
  EXPECT_EQ(of("c[:3] | reverse"), "[bXa]");
  EXPECT_EQ(of("c[:2].title() ~ '{}'.format(c[2]) ~ ('x' * 2) ~ c[0] * 2"), "[Axb]xx[aa]");
  EXPECT_EQ(of("'a\nb' | indent(c[:1])"), "a\n[a]b");
  EXPECT_EQ(of("c | indent(1)"), "[aXb</think>]\n [ cD]");
  EXPECT_EQ(rendered("{% macro m(x) %}({{ x }}){% endmacro %}{% set y %}{{ m(messages[0].content[:1]) }}{% "
                     "endset %}{{ y }}",
                     one),
            "([a])");
}

TEST(ChatTemplate, RefusesWhatItDoesNotHaveByName) {
  const auto parse = [](std::string_view source) { return ChatTemplate::parse(source, "t.jinja"); };
  EXPECT_FILE_ERROR(parse("a\n{{ x | urlize }}"), "line 2",
                    "uses the filter \"urlize\", which attend does not have");
  EXPECT_FILE_ERROR(parse("{% if x is ipv4 %}{% endif %}"), "line 1",
                    "uses the test \"ipv4\", which attend does not have");
  EXPECT_FILE_ERROR(parse("\n\n{% include 'x' %}"), "line 3",
                    "uses {% include %}, which attend does not have");
  EXPECT_FILE_ERROR(parse("{{ x.encode() }}"), "line 1",
                    "calls the method \"encode\", which attend does not have");
  EXPECT_FILE_ERROR(parse("{{ ask_network() }}"), "line 1",
                    "calls \"ask_network\", which attend does not have");
  EXPECT_FILE_ERROR(parse("{% for x in y recursive %}{% endfor %}"), "line 1", "uses a recursive loop");
  EXPECT_FILE_ERROR(parse("{{ '%s' % x }}"), "line 1", "uses % on a string");
  EXPECT_FILE_ERROR(parse("{{ f(*x) }}"), "line 1", "uses * or ** in a call");
  EXPECT_FILE_ERROR(parse("{{ cycler }}"), "line 1", "uses \"cycler\"");
  EXPECT_FILE_ERROR(parse("{% for x in y %}{% macro m() %}{% endmacro %}{% endfor %}"), "line 1",
                    "has a macro in a loop");
  EXPECT_FILE_ERROR(parse("{{ x | tojson(default=1) }}"), "line 1", "has no parameter \"default\"");
  EXPECT_FILE_ERROR(parse("{% if x %}\n"), "line 1", "a block lacks its endif");
}

TEST(ChatTemplate, SaysWhereRenderingFails) {
  const auto render = [](std::string_view source) { return ChatTemplate::parse(source).render({}); };
  EXPECT_FILE_ERROR(render("\n{{ raise_exception('roles\nmust alternate') }}"), "line 2",
                    "the template refuses this conversation: roles\\x0amust alternate");
  EXPECT_FILE_ERROR(render("{{ {}['\\x01'].x }}"), "line 1", "\"\\x01\", which is undefined");
  EXPECT_FILE_ERROR(render("{{ nobody.name }}"), "line 1",
                    "\"nobody\", which is undefined, has no attribute \"name\"");
}

TEST(ChatTemplate, WritesTheDate) {
  std::tm day{};
  day.tm_year = 126;
  day.tm_mon = 6;
  day.tm_mday = 4;
  const ChatTemplate chat = ChatTemplate::parse("{{ strftime_now('%d %b %Y') }}");
  EXPECT_EQ(chat.render({}, {.now = day}).text, "04 Jul 2026");
  EXPECT_EQ(chat.render({}).text.size(), 11u);
}

}  // namespace
}  // namespace attend
