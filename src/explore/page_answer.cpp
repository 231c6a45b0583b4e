// Serves the page and its modules, which are built in.
#include "explore/api.h"
#include "http/callers.h"
#include "http/target.h"
#include "page/assets.h"

namespace attend::explore {
namespace {

// Scripts, styles and connections from this origin only; nobody may frame the page.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: "
    "blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  if (name.ends_with(".json")) return "application/json";
  return "application/octet-stream";
}

// "/" is the page, "/web/..." is one of its files.
std::string asset_name(const std::vector<std::string>& path) {
  if (path.size() == 1 && path[0].empty()) return "index.html";
  if (path.size() < 2 || path[0] != "web") return {};
  std::string name;
  for (std::size_t i = 1; i < path.size(); ++i) name += (i > 1 ? "/" : "") + path[i];
  return name;
}

}  // namespace

bool is_for_api(const http::Request& request) { return request.target.starts_with("/api/"); }

http::Response page_answer(const http::Request& request) {
  try {
    http::require_own(request);
    const std::string name = asset_name(http::Target(request.target).path());
    const std::string_view bytes = page::asset(name);
    if (bytes.empty()) return http::error_response(404, "there is nothing at this address");
    http::require_method(request, "GET");
    return {
        .type = type_of(name), .body = std::string(bytes), .headers = {{"Content-Security-Policy", kPolicy}}};
  } catch (const http::RequestError& error) {
    return http::error_response(error);
  }
}

}  // namespace attend::explore
