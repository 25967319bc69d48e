// A TCP proxy that hands every byte on a fixed time after it came.
//   delay_proxy --listen HOST:PORT --connect HOST:PORT --delay-us 250
//   delay_proxy --check
// Exit codes: 0 done (--check passed), 1 failed, 2 wrong usage. Runs until it is killed.
#include <cstdio>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/bench/hybrid/delay_check.h"
#include "tests/bench/hybrid/delay_server.h"

namespace halograph {
namespace {

constexpr int kWrongUsage = 2;
constexpr double kMaxDelayUs = 1e6;

struct Options {
  std::string listen;
  std::string target;
  double delay_us = 250;
  bool check = false;
};

Status Check(std::chrono::nanoseconds delay) {
  HG_ASSIGN_OR_RETURN(const Json measured, CheckDelayProxy(delay));
  fmt::print("{}\n", measured.dump());
  return OkStatus();
}

Status Serve(const Options& options, std::chrono::nanoseconds delay) {
  HG_ASSIGN_OR_RETURN(const auto server, DelayServer::Start(options.listen, options.target, delay));
  fmt::print("listening on {}\n", server->address());
  std::fflush(stdout);
  while (true) ::pause();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Adds latency to TCP connections", "delay_proxy");
  app.add_option("--listen", options.listen, "HOST:PORT in numbers; port 0 picks a free one");
  app.add_option("--connect", options.target, "HOST:PORT in numbers");
  app.add_option("--delay-us", options.delay_us, "Microseconds, each way")
      ->check(CLI::Range(0.0, kMaxDelayUs))
      ->capture_default_str();
  app.add_flag("--check", options.check, "Check itself on loopback and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  if (!options.check && (options.listen.empty() || options.target.empty())) {
    fmt::print(stderr, "delay_proxy: give --listen and --connect, or --check\n");
    return kWrongUsage;
  }
  const auto delay = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double, std::micro>(options.delay_us));
  const Status status = options.check ? Check(delay) : Serve(options, delay);
  if (status.ok()) return 0;
  fmt::print(stderr, "delay_proxy: {}\n", ToString(status));
  return 1;
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) { return halograph::Main(argc, argv); }
