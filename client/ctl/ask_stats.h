// What servers tell by their Stats, with their metrics: of all at once, whoever answers.
#pragma once

#include <memory>
#include <vector>

#include "client/ctl/why/readings.h"
#include "client/remote_options.h"

namespace halograph {
class RpcClient;
}  // namespace halograph

namespace halograph::ctl {

// Connections stay open between questions. Not thread-safe.
class StatsAsker {
 public:
  // Validate()d options.
  explicit StatsAsker(RemoteOptions options);
  ~StatsAsker();
  StatsAsker(const StatsAsker&) = delete;
  StatsAsker& operator=(const StatsAsker&) = delete;

  // A reading of each, in the order of the options, each within the timeout; errors are the
  // readings'. Of those that answer also the time of the fastest of some calls with small messages.
  [[nodiscard]] std::vector<ServerReading> Ask();

 private:
  struct Times;
  void AskOnce(bool metrics, std::vector<ServerReading>* readings);

  std::unique_ptr<Times> times_;
  std::unique_ptr<RpcClient> client_;
};

}  // namespace halograph::ctl
