// Any bytes as a request to the explorer: its address up to the first line end, Host and Origin up to the
// next ones, then its body. Whatever is read makes sense; whatever is not is refused in one sentence.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "explore/api.h"
#include "explore/bodies.h"
#include "fuzz/require.h"
#include "http/callers.h"
#include "http/target.h"

namespace {

using namespace attend;
using namespace attend::explore;
using namespace attend::http;

template <class Action>
void parse_or_refuse(const Action& action) {
  try {
    action();
  } catch (const RequestError& error) {
    require(error.status >= 400 && error.status < 500);
    require_sentence(error.what(), 300);
  }
}

std::string take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string line(text.substr(0, end));
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Request request{.method = "GET"};
  request.target = take_line(rest);
  request.host = take_line(rest);
  request.origin = take_line(rest);
  request.body = rest;

  parse_or_refuse([&] {
    Target target(request.target);
    require(!target.path().empty());
    for (const char* const name : {"layer", "head", "level", "y", "x", "row", "query", "key"}) {
      const auto number = target.number(name);
      require(!number || (*number >= 0 && *number <= std::int64_t{1} << 40));
      require(!target.number(name));  // each is taken once
    }
    for (const char* const name : {"method", "units"}) target.text(name);
    target.require_all_used();
  });
  const Response page = page_answer(request);
  require(page.status == 200 || (page.status >= 400 && page.status < 500 && page.body.starts_with('{')));
  require(page.status != 200 || is_own_host(request.host));

  parse_or_refuse([&] { require(!parse_read(request.body).text.empty()); });
  parse_or_refuse([&] { require(parse_change(request.body).edits.size() <= 256); });
  parse_or_refuse([&] { require(!parse_compare(request.body).word.empty()); });
  return 0;
}
