// A TCP proxy that hands every byte on a fixed time after it came.
//   delay_proxy --listen HOST:PORT --connect HOST:PORT --delay-us 250
//   delay_proxy --check
// Exit codes: 0 done (--check passed), 1 failed, 2 wrong usage. Runs until it is killed.
#include <chrono>
#include <cstdio>

#include <unistd.h>

#include "common/base/log.h"
#include "common/program/program.h"
#include "tests/bench/hybrid/delay_check.h"
#include "tests/bench/hybrid/delay_server.h"

namespace halograph {
namespace {

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

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("delay_proxy", "Adds latency to TCP connections");
  Options options;
  OptionTable& rows = program.options();
  rows.Add("listen", &options.listen, "HOST:PORT in numbers; port 0 picks a free one");
  rows.Add("connect", &options.target, "HOST:PORT in numbers");
  rows.Add("delay-us", &options.delay_us, "microseconds, each way").Range(0, kMaxDelayUs);
  rows.Add("check", &options.check, "check itself on loopback and end");
  program.Check([&] {
    if (options.check || (!options.listen.empty() && !options.target.empty())) return OkStatus();
    return InvalidArgument("give --listen and --connect, or --check");
  });
  program.Run([&] {
    const auto delay = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double, std::micro>(options.delay_us));
    return options.check ? Check(delay) : Serve(options, delay);
  });
  return program.Main(argc, argv);
}
