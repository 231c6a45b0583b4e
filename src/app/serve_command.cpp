// attend serve: vectors and what attention did, over HTTP.
#include <csignal>
#include <memory>
#include <optional>

#include <attend/threads.h>

#include "app/command.h"
#include "app/get_model.h"
#include "app/model_options.h"
#include "app/output.h"
#include "base/error.h"
#include "http/memory.h"
#include "http/server.h"
#include "serve/server.h"

namespace attend::app {
namespace {

constexpr const char* kServeFooter = R"(
Prints its address when it is ready, and one line for each request on standard
error, without any text. It can only be reached from this machine unless --host
says otherwise (0.0.0.0: from everywhere). After SIGTERM /health fails, so that
clients go elsewhere; the server keeps serving for --grace-seconds and then
finishes what it has accepted. Ctrl-C skips the grace period.

Requests are those of OpenAI's clients (/v1/embeddings, /v1/completions,
/v1/chat/completions, /v1/models) and of Text Embeddings Inference (/embed,
/embed_all, /similarity, /predict, /rerank, /tokenize, /decode, /info, /health,
/metrics); /explain says what attention did with a text.

Try:
  attend serve
  curl localhost:8080/embed -d '{"inputs": "The bank of the river"}'
  curl localhost:8080/explain -d '{"inputs": "The bank of the river", "layer": 1}'
  attend serve -m ./my-model -m all-MiniLM-L6-v2 --port 9000)";

struct ServeArguments {
  ModelOptions model_options;
  std::vector<std::string> models;
  std::int64_t threads = 0, timeout = 3600, idle = 30, grace = 5, drain = 20;
  serve::ServeOptions options;
};

void run_serve(ServeArguments& given) {
  http::return_free_memory_early();
  std::signal(SIGPIPE, SIG_IGN);  // whoever read the log may end before the server
  if (!http::has_server())
    throw std::runtime_error("this attend was built without Boost.Beast, which a server needs");
  if (given.threads > 0) set_threads(given.threads);
  if (given.models.empty()) given.models.emplace_back(kDefaultModel);
  std::vector<serve::ServedModel> models;
  for (const std::string& name : given.models)
    models.push_back(serve::served(name, open_model(name, given.model_options)));
  given.options.request_timeout = std::chrono::seconds(given.timeout);
  given.options.idle = std::chrono::seconds(given.idle);
  given.options.grace = std::chrono::seconds(given.grace);
  given.options.drain = std::chrono::seconds(given.drain);
  given.options.ready = [](const std::string& address) { write_output(address + "\n"); };
  given.options.log = say;
  serve::serve(std::move(models), given.options);
}

}  // namespace

void add_serve_command(CLI::App& program, Globals&, std::function<void()>& run) {
  CLI::App* const command =
      program.add_subcommand("serve", "Serve vectors over HTTP, and what attention did with a text");
  const auto given = std::make_shared<ServeArguments>();
  serve::ServeOptions& options = given->options;
  const auto number = [&](const char* name, std::int64_t& value, const char* help, std::int64_t least,
                          std::int64_t most) {
    command->add_option(name, value, help)
        ->type_name("N")
        ->check(CLI::Range(least, most))
        ->take_last()
        ->capture_default_str();
  };
  command
      ->add_option("-m,--model", given->models,
                   "A folder, a GGUF file, or a name on the hub; may be given several times")
      ->type_name("MODEL")
      ->default_str(std::string(kDefaultModel));
  command->add_option("--host", options.host, "The address to listen on; 0.0.0.0 for all of this machine's")
      ->type_name("ADDRESS")
      ->take_last()
      ->capture_default_str();
  command->add_option("--port", options.port, "The port; 0 for any free one")
      ->type_name("N")
      ->check(CLI::Range(0, 65535))
      ->take_last()
      ->capture_default_str();
  add_precision_option(*command, given->model_options);
  number("--threads", given->threads, "Threads that compute; 0 for one for each core", 0, 1024);
  command
      ->add_option("--api-key", options.api_key,
                   "Requests must have the header Authorization: Bearer KEY, except those to /health, /ping "
                   "and /metrics")
      ->type_name("KEY")
      ->envname("ATTEND_API_KEY")
      ->take_last();
  number("--max-concurrent-requests", options.max_concurrent_requests,
         "Requests answered at the same time; more are refused at once with 429", 1, 1 << 20);
  number("--max-batch-tokens", options.max_batch_tokens, "Most tokens computed together", 1, 1 << 24);
  number("--max-num-seqs", options.max_num_seqs, "Most texts that a model writes at the same time", 1, 1024);
  number("--max-batch-total-tokens", options.max_batch_total_tokens,
         "Most tokens in these texts together, with their prompts", 1, 1 << 30);
  number("--max-client-batch-size", options.max_client_batch_size,
         "Most texts in a request; one to /v1/embeddings may have 2048", 1, 1 << 20);
  number("--payload-limit", options.payload_limit, "Largest body of a request, in bytes", 1, 1 << 30);
  number("--max-connections", options.max_connections, "Most connections, idle ones included", 1, 1 << 16);
  number("--request-timeout", given->timeout,
         "Seconds after which a request is refused with 504, and nothing more is done for it", 1, 86400);
  number("--idle-seconds", given->idle, "How long a client may take to send a request, or to take the answer",
         1, 3600);
  number("--grace-seconds", given->grace, "How long to keep serving after SIGTERM", 0, 3600);
  number("--drain-seconds", given->drain, "How long after that to finish requests already accepted", 0, 3600);
  command->footer(kServeFooter);
  command->callback([given, &run] { run = [given] { run_serve(*given); }; });
}

}  // namespace attend::app
