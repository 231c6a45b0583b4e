#include "serve/metrics.h"

#include <attend/version.h>

#include <unistd.h>

#include <cstdio>

namespace attend::serve {
namespace {

std::string metric_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void write_head(std::string& text, const std::string& name, const char* type, const char* help) {
  text.append("# HELP ").append(name).append(" ").append(help);
  text.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

// label: "" or "{a=\"b\"}"
void write_value(std::string& text, const std::string& name, const std::string& label, double value) {
  text.append(name).append(label).append(" ").append(metric_number(value)).append("\n");
}

std::int64_t resident_bytes() {
  long pages = 0, resident = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return std::int64_t{resident} * sysconf(_SC_PAGESIZE);
}

}  // namespace

void Histogram::add(double value) {
  std::size_t bucket = 0;
  for (double bound = first_; bucket < kBuckets && value > bound; bound *= 2) ++bucket;
  ++counts_[bucket];
  sum_ += value;
}

void Histogram::write(std::string& text, const std::string& name, const std::string& label) const {
  const std::string before = "{" + label + (label.empty() ? "le=\"" : ",le=\"");
  std::int64_t count = 0;
  double bound = first_;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket, bound *= 2) {
    count += counts_[bucket];
    write_value(text, name + "_bucket", before + metric_number(bound) + "\"}", static_cast<double>(count));
  }
  count += counts_[kBuckets];
  const std::string alone = label.empty() ? "" : "{" + label + "}";
  write_value(text, name + "_bucket", before + "+Inf\"}", static_cast<double>(count));
  write_value(text, name + "_sum", alone, sum_);
  write_value(text, name + "_count", alone, static_cast<double>(count));
}

void Metrics::add(const Finished& request) {
  const std::lock_guard lock(mutex_);
  ++requests_[{request.route, request.status}];
  seconds_.try_emplace(request.route, 0.001).first->second.add(request.seconds);
  if (request.status != 200 || request.texts == 0) return;
  texts_ += request.texts;
  tokens_ += request.tokens;
  queued_.add(request.queued);
  computing_.add(request.computing);
}

void Metrics::add_batch(std::int64_t texts, std::int64_t tokens) {
  if (texts == 0) return;
  const std::lock_guard lock(mutex_);
  batch_texts_.add(static_cast<double>(texts));
  batch_tokens_.add(static_cast<double>(tokens));
}

void Metrics::add_step(std::int64_t texts) {
  const std::lock_guard lock(mutex_);
  step_texts_.add(static_cast<double>(texts));
}

std::string Metrics::text(const Now& now) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  const auto number = [&](const char* name, const char* type, const char* help, double value,
                          const std::string& label = "") {
    write_head(text, name, type, help);
    write_value(text, name, label, value);
  };
  const auto histogram = [&](const char* name, const char* help, const Histogram& values) {
    write_head(text, name, "histogram", help);
    values.write(text, name, "");
  };
  number("attend_build_info", "gauge", "The version of attend that serves.", 1,
         "{version=\"" + std::string(version()) + "\"}");
  write_head(text, "attend_requests_total", "counter", "Requests that were answered, by route and status.");
  for (const auto& [key, count] : requests_)
    write_value(text, "attend_requests_total",
                "{route=\"" + key.first + "\",status=\"" + std::to_string(key.second) + "\"}",
                static_cast<double>(count));
  write_head(text, "attend_request_duration_seconds", "histogram",
             "From the end of a request to its answer, by route.");
  for (const auto& [route, values] : seconds_)
    values.write(text, "attend_request_duration_seconds", "route=\"" + route + "\"");
  number("attend_texts_total", "counter", "Texts of requests that were answered with 200.",
         static_cast<double>(texts_));
  number("attend_tokens_total", "counter", "Tokens of these texts.", static_cast<double>(tokens_));
  histogram("attend_queue_duration_seconds", "How long requests waited before they were computed.", queued_);
  histogram("attend_compute_duration_seconds", "How long requests were computed.", computing_);
  histogram("attend_batch_texts", "Texts that were computed together.", batch_texts_);
  histogram("attend_batch_tokens", "Tokens that were computed together.", batch_tokens_);
  histogram("attend_step_texts", "Texts that were written together, in each step of a model that writes.",
            step_texts_);
  number("attend_writing_texts", "gauge", "Texts that are being written.",
         static_cast<double>(now.writing_texts));
  number("attend_requests_in_progress", "gauge", "Requests that were accepted and not yet answered.",
         static_cast<double>(now.requests));
  number("attend_waiting_requests", "gauge", "Requests that wait to be computed.",
         static_cast<double>(now.waiting_requests));
  number("attend_waiting_tokens", "gauge", "Tokens that wait to be computed.",
         static_cast<double>(now.waiting_tokens));
  number("process_resident_memory_bytes", "gauge", "Memory of the process.",
         static_cast<double>(resident_bytes()));
  return text;
}

}  // namespace attend::serve
