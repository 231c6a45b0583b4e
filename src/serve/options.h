// How a server behaves. Names and defaults are those of Text Embeddings Inference where it has them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace attend::serve {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any that is free
  std::string api_key{};
  std::int64_t max_concurrent_requests = 512;  // accepted and not yet answered; one more gets 429
  // That are computed together at most. Not the 16,384 of others: a text is answered with the rest of its
  // batch, and 64 clients got 109 to 114 texts a second with those, 115 to 120 with these.
  std::int64_t max_batch_tokens = 2048;
  std::int64_t max_client_batch_size = 32;  // texts in one request to TEI's routes
  // Of models that write; the names are vLLM's and Text Generation Inference's. Each text takes memory for
  // its keys and values, so the defaults are for the memory of a desktop, not of a GPU.
  std::int64_t max_num_seqs = 16;                 // texts that are written together
  std::int64_t max_batch_total_tokens = 1 << 16;  // that they may come to, with their prompts
  std::int64_t payload_limit = 2'000'000;         // bytes of a body
  std::int64_t max_connections = 1024;
  std::chrono::seconds request_timeout{3600};  // after which a request is refused, whatever is done of it
  std::chrono::seconds idle{30};
  std::chrono::seconds grace{5};   // after SIGTERM
  std::chrono::seconds drain{20};  // after the grace; Kubernetes allows 30 in all
  std::function<void(const std::string& address)> ready{};
  std::function<void(std::string_view line)> log{};  // one request; from any thread, one at a time
};

inline constexpr std::size_t kMostOpenAiInputs = 2048;

}  // namespace attend::serve
