#include "client/ctl/trainer_ports.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "client/ctl/http_get.h"
#include "common/base/host_port.h"
#include "common/base/wall_clock.h"

namespace halograph::ctl {
namespace {

using Clock = std::chrono::steady_clock;

// Asked at a time.
constexpr size_t kAtOnce = 16;

double SteadySeconds() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

StatusOr<TrainerReading> Ask(const std::string& address, const std::string& token,
                             std::chrono::nanoseconds timeout) {
  HG_ASSIGN_OR_RETURN(const HostPort port, ParseServerAddress(address));
  HG_ASSIGN_OR_RETURN(const std::string text, HttpGet(port, "/status", token, timeout));
  return ReadTrainerStatus(text, address);
}

TrainerReading AskOne(const std::string& address, const std::string& token,
                      std::chrono::nanoseconds timeout) {
  const double asked = SteadySeconds();
  const double asked_unix = SecondsSince1970();
  StatusOr<TrainerReading> read = Ask(address, token, timeout);
  TrainerReading reading =
      read.ok() ? std::move(read).value() : TrainerReading{.error = read.status()};
  reading.address = address;
  reading.at_seconds = SteadySeconds();
  reading.answer_seconds = reading.at_seconds - asked;
  reading.here_unix_seconds = asked_unix + reading.answer_seconds / 2;
  return reading;
}

}  // namespace

void AddTrainerRows(OptionTable& rows, TrainerPorts* ports) {
  rows.Add("trainer", &ports->addresses,
           "HTTP ports of trainers (their --http-listen), one a rank: what a step waits for is "
           "known "
           "there")
      .Check([](const std::vector<std::string>& addresses) {
        for (const std::string& address : addresses) {
          HG_RETURN_IF_ERROR(ParseServerAddress(address).status());
        }
        return OkStatus();
      })
      .ValueName("HOST:PORT,...");
  rows.Add("trainer-token-file", &ports->token_file,
           "file with the token of trainers' ports (their --http-token-file)")
      .ValueName("FILE");
}

StatusOr<std::vector<TrainerReading>> AskTrainers(const TrainerPorts& ports,
                                                  std::chrono::nanoseconds timeout) {
  std::string token;
  if (!ports.token_file.empty()) {
    HG_ASSIGN_OR_RETURN(token, ReadBearerToken(ports.token_file));
  }
  std::vector<TrainerReading> readings(ports.addresses.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < readings.size(); i = next.fetch_add(1)) {
      readings[i] = AskOne(ports.addresses[i], token, timeout);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(kAtOnce, readings.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return readings;
}

}  // namespace halograph::ctl
