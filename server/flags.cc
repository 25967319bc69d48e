#include "server/flags.h"

#include <iostream>

#include <CLI/CLI.hpp>

#include "common/base/build_info.h"
#include "common/base/units.h"

namespace halograph::server {
namespace {

struct Texts {
  std::string graph;
  std::string part;
  std::string serve = "all";
  std::string verify = "contents";
  std::string drain_timeout = "10s";
  std::string max_message_bytes;
  std::string request_memory;
  std::string reply_memory;
  std::string address_file;
};

void AddOptions(CLI::App& app, Texts& texts, Flags& flags) {
  ServerOptions& options = flags.options;
  app.add_option("--graph", texts.graph, "Partition folder that holds part-XXXX")->required();
  app.add_option("--part", texts.part, "Parts to serve: P[,P...] or all")->required();
  app.add_option("--serve", texts.serve,
                 "all, or features: the topology is not opened (trainers bring it, hybrid mode)")
      ->capture_default_str();
  app.add_option("--listen", options.listen, "HOST:PORT; port 0 picks a free one")->required();
  app.add_option("--threads", options.threads, "Threads that work on calls; 0: one a core")
      ->capture_default_str();
  app.add_option("--queue", options.queue,
                 "Calls that wait for a thread; more are answered UNAVAILABLE")
      ->capture_default_str();
  app.add_option("--max-message-bytes", texts.max_message_bytes,
                 "Largest request or reply; beyond: RESOURCE_EXHAUSTED [4194304]");
  app.add_option("--request-memory", texts.request_memory,
                 "Bytes of requests in flight; beyond: UNAVAILABLE [16MiB or 4 messages]");
  app.add_option("--reply-memory", texts.reply_memory,
                 "Bytes of replies not yet sent; beyond: UNAVAILABLE [48MiB or 4 messages]");
  app.add_option("--address-file", texts.address_file,
                 "File to write HOST:PORT to once listening (by rename)");
  app.add_option("--drain-timeout", texts.drain_timeout,
                 "How long calls in flight may go on after SIGTERM")
      ->capture_default_str();
  app.add_option("--verify", texts.verify,
                 "What opening checks: headers, or contents (every checksum)")
      ->capture_default_str();
  app.add_option("--log-level", flags.log_level, "trace, debug, info, warning, error, off")
      ->capture_default_str();
  app.set_version_flag("--version", BuildVersion());
}

Status Bytes(const std::string& option, const std::string& text, int64_t* bytes) {
  if (text.empty()) return OkStatus();
  StatusOr<int64_t> parsed = ParseBytes(text);
  if (!parsed.ok()) return Annotate(parsed.status(), option);
  *bytes = *parsed;
  return OkStatus();
}

Status Resolve(const Texts& texts, ServerOptions* options) {
  options->graph = texts.graph;
  options->address_file = texts.address_file;
  HG_ASSIGN_OR_RETURN(options->parts, ParseParts(texts.part));
  HG_ASSIGN_OR_RETURN(options->contents, ParseServe(texts.serve));
  HG_ASSIGN_OR_RETURN(options->verify, ParseVerifyLevel(texts.verify));
  StatusOr<std::chrono::nanoseconds> drain = ParseDuration(texts.drain_timeout);
  if (!drain.ok()) return Annotate(drain.status(), "--drain-timeout");
  options->drain_timeout = *drain;
  HG_RETURN_IF_ERROR(
      Bytes("--max-message-bytes", texts.max_message_bytes, &options->max_message_bytes));
  HG_RETURN_IF_ERROR(Bytes("--request-memory", texts.request_memory, &options->request_memory));
  HG_RETURN_IF_ERROR(Bytes("--reply-memory", texts.reply_memory, &options->reply_memory));
  return options->Validate();
}

}  // namespace

std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_code) {
  CLI::App app("Serves partitions of a graph: sampling, features, task sets", "halograph-server");
  Texts texts;
  Flags flags;
  AddOptions(app, texts, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  if (Status status = Resolve(texts, &flags.options); !status.ok()) {
    std::cerr << "halograph-server: " << Message(status) << "\nRun with --help for the options.\n";
    *exit_code = 2;
    return std::nullopt;
  }
  return flags;
}

}  // namespace halograph::server
