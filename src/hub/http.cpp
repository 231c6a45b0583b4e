#include "hub/http.h"

#include <attend/version.h>
#include <curl/curl.h>

#include <algorithm>
#include <array>

namespace attend::hub {
namespace {

constexpr long kConnectSeconds = 30;
constexpr long kSilentSeconds = 60;  // without a byte, after which the connection is given up
constexpr long kMostRedirections = 5;

struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, ListFree>;

void add(List& list, const std::string& line) {
  curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  list.release();
  list.reset(longer);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? std::string_view()
                            : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// State shared by the callbacks of one transfer.
struct Transfer {
  CURL* curl = nullptr;
  HttpResponse response;
  Http::Started started;
  Http::Piece piece;
  bool begun = false;
  std::exception_ptr failure;  // must not pass through libcurl, which is C
};

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) transfer.response.headers.clear();  // after a redirect, a new answer begins
  const std::size_t colon = line.find(':');
  if (colon != line.npos && transfer.response.headers.size() < 200) {
    transfer.response.headers[lower(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  return size;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    if (!transfer.begun) {
      transfer.begun = true;
      curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &transfer.response.status);
      if (transfer.started && !transfer.started(transfer.response)) return 0;
    }
    return transfer.piece({data, size}) ? size : 0;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

struct Http::Handle {
  Handle() : curl(curl_easy_init()) {
    if (curl == nullptr)
      throw std::runtime_error("downloading needs libcurl 7.85 or newer, which cannot be used here");
  }
  ~Handle() { curl_easy_cleanup(curl); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void prepare(const std::string& url, const std::string& token) {
    curl_easy_reset(curl);  // keeps connections open
    headers.reset();
    // libcurl omits this header when a redirect leads to another host.
    if (!token.empty()) add(headers, "Authorization: Bearer " + token);
    const bool encrypted = url.starts_with("https://");
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, encrypted ? "https" : "http,https");
    curl_easy_setopt(curl, CURLOPT_USERAGENT, ("attend/" + std::string(version())).c_str());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirections);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason.data());
    reason[0] = '\0';
  }

  HttpResponse perform(Transfer& transfer) {
    transfer.curl = curl;
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
    const CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &transfer.response.status);
    if (transfer.failure) std::rethrow_exception(transfer.failure);
    if (code != CURLE_OK && code != CURLE_WRITE_ERROR) {  // a write error means that we stopped the transfer
      throw ConnectionError(reason[0] == '\0' ? curl_easy_strerror(code) : reason.data());
    }
    return std::move(transfer.response);
  }

  CURL* curl;
  List headers;
  std::array<char, CURL_ERROR_SIZE> reason{};
};

Http::Http(std::string token) : handle_(std::make_unique<Handle>()), token_(std::move(token)) {}
Http::~Http() = default;

HttpResponse Http::head(const std::string& url) {
  handle_->prepare(url, token_);
  curl_easy_setopt(handle_->curl, CURLOPT_NOBODY, 1L);
  Transfer transfer;
  transfer.piece = [](std::string_view) { return true; };
  return handle_->perform(transfer);
}

HttpResponse Http::get(const std::string& url, std::size_t largest) {
  handle_->prepare(url, token_);
  curl_easy_setopt(handle_->curl, CURLOPT_FOLLOWLOCATION, 1L);
  Transfer transfer;
  transfer.piece = [&](std::string_view bytes) {
    if (transfer.response.body.size() + bytes.size() > largest)
      throw std::runtime_error("the hub's answer is too long");
    transfer.response.body += bytes;
    return true;
  };
  return handle_->perform(transfer);
}

HttpResponse Http::download(const std::string& url, std::uint64_t offset, const Started& started,
                            const Piece& piece) {
  handle_->prepare(url, token_);
  curl_easy_setopt(handle_->curl, CURLOPT_FOLLOWLOCATION, 1L);
  const std::string range = std::to_string(offset) + "-";
  if (offset > 0) curl_easy_setopt(handle_->curl, CURLOPT_RANGE, range.c_str());
  Transfer transfer;
  transfer.started = started;
  transfer.piece = [&](std::string_view bytes) {
    const bool content = transfer.response.status == 200 || transfer.response.status == 206;
    return !content || piece(bytes);
  };
  return handle_->perform(transfer);
}

}  // namespace attend::hub
