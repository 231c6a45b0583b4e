// Requests to the hub. Hides libcurl.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attend::hub {

// The connection failed or was interrupted: worth another try. what() is libcurl's reason.
struct ConnectionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct HttpResponse {
  long status = 0;
  std::map<std::string, std::string> headers;  // of the last answer, names in lower case
  std::string body;
  std::string header(const std::string& name) const;  // empty where there is none
};

// One request at a time. HTTPS is never downgraded to HTTP, and the token is sent to the endpoint's host
// only.
class Http {
 public:
  explicit Http(std::string token);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  // The answer to HEAD as received; redirects are not followed.
  HttpResponse head(const std::string& url);

  // A text of at most `largest` bytes.
  HttpResponse get(const std::string& url, std::size_t largest);

  // The bytes from `offset` on. `started` sees status and headers before the first byte; `piece` gets the
  // bytes of answers 200 and 206. Either can stop the transfer by returning false.
  using Started = std::function<bool(const HttpResponse&)>;
  using Piece = std::function<bool(std::string_view)>;
  HttpResponse download(const std::string& url, std::uint64_t offset, const Started& started,
                        const Piece& piece);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
  std::string token_;
};

}  // namespace attend::hub
