// Templates that are made to harm: one sentence each, in bounded time and memory.
#include <attend/chat_template.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/cpu_time.h"
#include "support/file_error.h"
#include "support/sanitized.h"

namespace attend {
namespace {

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

std::vector<std::string> harmful_templates() {
  const std::string forever = "{% for a in range(99999) %}{% for b in range(99999) %}";
  const std::string twice = "{% endfor %}{% endfor %}";
  std::vector<std::string> list = {
      forever + "x" + twice,
      forever + twice,
      "{% set ns = namespace(x='a') %}{% for a in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
      "{% set ns = namespace(x='a') %}{% for a in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for a in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for a in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}",
      "{% set ns = namespace(x={}) %}{% for a in range(99999) %}{% set ns.x = {'a': ns.x} %}{% endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for a in range(50) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ "
      "ns.x }}",
      "{% set ns = namespace(x=[1]) %}{% for a in range(50) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ "
      "ns.x | tojson(indent=900) }}",
      "{% set ns = namespace(x=[1], y=[1]) %}{% for a in range(50) %}{% set ns.x = [ns.x, ns.x] %}{% set "
      "ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
      "{{ 'a' * 99999999999 }}",
      "{{ [0] * 99999999999 }}",
      "{{ '' * 99999999999 }}{{ [] * 99999999999 }}",
      "{{ ('a' * 9999999).replace('', 'bbbbbbbbbbbbbbbb') }}",
      "{{ ('a' * 9999999) | replace('a', 'bbbbbbbbbbbbbbbb') }}",
      "{{ ('a' * 9999999).split('a') }}",
      "{{ ('a' * 9999999) | list }}",
      "{{ ('a' * 9999999)[::-1] }}",
      "{{ ('a' * 999999 ~ 'b') in ('a' * 9999999) }}",
      "{{ ('a' * 9999999).find('a' * 999999 ~ 'b') }}",
      "{{ ('\n' * 9999999) | indent(999) }}",
      "{{ range(99999999) }}",
      "{{ 2 ** 9999999 }}",
      "{{ 9223372036854775807 + 1 }}",
      "{{ -9223372036854775807 - 2 }}",
      "{{ 9223372036854775807 * 2 }}",
      "{{ (-9223372036854775807 - 1) // -1 }}",
      "{{ (-9223372036854775807 - 1) | abs }}",
      "{{ 99999999999999999999 }}",
      "{{ '99999999999999999999' | int }}",
      "{{ 1e300 | int }}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m(x) %}{% for a in range(9) %}{{ m(x) }}{% endfor %}{% endmacro %}{{ m(1) }}",
      "{% macro m(x=m()) %}{% endmacro %}{{ m() }}",
      "{% macro a() %}{{ b() }}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() "
      "}}",
      "{{ " + repeated("(", 5000) + repeated(")", 5000) + " }}",
      "{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}",
      "{{ " + repeated("{1:", 5000) + "1" + repeated("}", 5000) + " }}",
      "{{ " + repeated("not ", 5000) + "1 }}",
      "{{ " + repeated("-", 5000) + "1 }}",
      "{{ " + repeated("1+", 20000) + "1 }}",
      "{{ " + repeated("1 or ", 20000) + "1 }}",
      "{{ x" + repeated(".y", 20000) + " }}",
      "{{ x" + repeated("[0]", 20000) + " }}",
      "{{ x" + repeated("|trim", 20000) + " }}",
      "{{ 1" + repeated(" if 1 else 1", 5000) + " }}",
      repeated("{% if x %}", 5000),
      repeated("{% for x in y %}", 5000),
      repeated("{% set x %}", 5000),
      repeated("{% generation %}", 5000),
      repeated("{{ x }}", 30000),
      "{{ strftime_now('%Q') }}",
      "{{ strftime_now('%') }}",
      "{{ strftime_now('%-') }}",
      "{{ '{999999999}'.format(1) }}",
      "{{ ''.__class__.__mro__[1].__subclasses__() }}",
      "{{ messages.__class__.x }}",
      "{{ namespace.__init__.__globals__ }}",
      "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns.me }}",
      "{% set ns = namespace() %}{% set ns.me = [ns] %}{{ ns.me | tojson }}",
      "{% for x in [1] %}{% set ns = namespace(l=loop) %}{% endfor %}{{ loop.index }}",
      "{{ range(3) | map('map') | list }}",
      "{{ 'a'.join(range(9)) }}",
      std::string("{{ '\xFF' }}"),
      repeated("x", ChatTemplate::kMaxBytes + 1),
  };
  return list;
}

TEST(HostileTemplates, AreRefusedInASentence) {
  const std::vector<ChatMessage> messages = {{"user", "hi"}};
  for (const std::string& source : harmful_templates()) {
    const double start = cpu_seconds();
    std::string error = "nothing";
    try {
      ChatTemplate::parse(source).render(messages);
    } catch (const FileError& refusal) {
      error = refusal.what();
    }
    EXPECT_LT(cpu_seconds() - start, kSanitized ? 30.0 : 1.0) << source.substr(0, 100);
    EXPECT_LT(error.size(), 300u);
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    const bool harmless = source.starts_with("{{ x }}{{ x }}");
    EXPECT_EQ(error == "nothing", harmless) << source.substr(0, 100) << error;
  }
}

// Every start of a template, and each of its characters replaced: parsed or refused, never anything else.
TEST(HostileTemplates, DamagedOnesAreParsedOrRefused) {
  const std::string good =
      "{%- macro m(a, b=2) -%}{{- a ~ b -}}{%- endmacro %}{% set ns = namespace(x=[1, 2.5]) %}{# c #}\n"
      "{%- for k, v in {'a': 1}.items() if v %}{% set ns.x = ns.x[::-1] %}{{ loop.index | string | "
      "trim('\\n') }}"
      "{% else %}{% break %}{% endfor %}{% if not x is defined and 1 < 2 in [2] %}{{ 'a' if y else \"b\" "
      "}}{% elif z %}"
      "{% raw %}{{ }}{% endraw %}{% endif %}{% set q | upper %}t{{ m(1, b=(2, 3)) }}{% endset %}{{ q[1:-1] "
      "}}";
  const std::vector<ChatMessage> messages = {{"user", "hi"}};
  const auto survives = [&](const std::string& source) {
    try {
      ChatTemplate::parse(source).render(messages);
    } catch (const FileError&) {
    }
  };
  for (std::size_t cut = 0; cut <= good.size(); ++cut) survives(good.substr(0, cut));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char other :
         {'{', '}', '%', '#', '\'', '(', ')', '|', '.', '-', ' ', '0', 'x', '\n', '\x80'}) {
      std::string damaged = good;
      damaged[at] = other;
      survives(damaged);
    }
  }
}

}  // namespace
}  // namespace attend
