// The text of the metrics.
#include "serve/metrics.h"

#include <gtest/gtest.h>

namespace attend::serve {
namespace {

TEST(Metrics, CountRequestsAndTheirTimes) {
  Metrics metrics;
  for (const int status : {200, 200, 429})
    metrics.add(
        {.route = "/embed", .status = status, .texts = 2, .tokens = 10, .seconds = 0.003, .queued = 100});
  metrics.add_batch(0, 0);  // an explanation
  metrics.add_batch(4, 20);
  const std::string text = metrics.text({.requests = 7});
  for (const char* const line :
       {"attend_requests_total{route=\"/embed\",status=\"200\"} 2\n", "attend_texts_total 4\n",
        "attend_tokens_total 20\n",
        "attend_request_duration_seconds_bucket{route=\"/embed\",le=\"0.002\"} 0\n",
        "attend_request_duration_seconds_bucket{route=\"/embed\",le=\"0.004\"} 3\n",
        "attend_request_duration_seconds_bucket{route=\"/embed\",le=\"+Inf\"} 3\n",
        "attend_request_duration_seconds_count{route=\"/embed\"} 3\n",
        "attend_queue_duration_seconds_bucket{le=\"32.768\"} 0\n",
        "attend_queue_duration_seconds_bucket{le=\"+Inf\"} 2\n", "attend_batch_texts_bucket{le=\"4\"} 1\n",
        "attend_batch_tokens_sum 20\n", "attend_requests_in_progress 7\n"})
    EXPECT_NE(text.find(line), text.npos) << line << text;
}

}  // namespace
}  // namespace attend::serve
