// A rank of a run among the others, and what they do together. With one rank nothing is opened and
// every collective returns at once.
// Not thread-safe: all ranks must call the same collectives in the same order. After an error of
// a collective only Leave and the destructor may follow.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "trainer/distributed/hosted_ranks.h"
#include "trainer/distributed/ordered_sum.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

class Communicator {
 public:
  // The only rank of its process: waits for all processes, and connects them. Errors as
  // ProcessGroup::Join.
  [[nodiscard]] static StatusOr<std::unique_ptr<Communicator>> Join(const GroupOptions& options);
  // The rank of that seat; returns when all have joined. Errors as HostedRanks::Join.
  [[nodiscard]] static StatusOr<std::unique_ptr<Communicator>> Join(const GroupOptions& options,
                                                                    RankSeat seat);

  [[nodiscard]] int rank() const { return seat_.host->RankOf(seat_.index); }
  [[nodiscard]] int world_size() const { return seat_.host->world_size(); }
  // Of every collective.
  [[nodiscard]] std::chrono::nanoseconds timeout() const { return seat_.host->timeout(); }

  // Collectives. `what` names the purpose in errors. Tensors are contiguous, and of the same shape
  // and dtype on all ranks. Every one ends within the timeout:
  //   Unavailable       a rank stopped or does not answer: this rank, the purpose, the culprit and,
  //                     where it said so, its reason are named
  //   DeadlineExceeded  a rank of this process does not come: likewise
  // In place, the sum over ranks in order of rank (OrderedSum): the same bits on every rank, in
  // however many processes the ranks are.
  [[nodiscard]] Status AllReduceSum(torch::Tensor tensor, std::string_view what,
                                    CarriedAs carried = CarriedAs::kThemselves);
  // In place, rank 0's values. The tensor may be on a device.
  [[nodiscard]] Status Broadcast(torch::Tensor tensor, std::string_view what);
  // Rank 0 gets every rank's tensor, in order of rank; the others an empty vector.
  [[nodiscard]] StatusOr<std::vector<torch::Tensor>> Gather(torch::Tensor tensor,
                                                            std::string_view what);
  [[nodiscard]] Status Barrier(std::string_view what);

  // A second communicator of the same ranks, over connections of its own, for a thread of its own:
  // its collectives go on beside these. A collective itself: the ranks meet here before they
  // connect, so that one that is gone is missed at once. Each later call gives the same one; of all
  // that a rank was given one may be in a collective at a time. It must not outlive this one, whose
  // Leave is that of both; before it, no thread may be in a collective of either. Its errors are as
  // these; `what` names the purpose in those of connecting.
  [[nodiscard]] StatusOr<std::unique_ptr<Communicator>> Beside(std::string_view what);

  // As Rendezvous::Agree.
  [[nodiscard]] Status Agree(const Json& facts);
  // What errors call a rank: "rank 1 (host b, pid 17)", or the ranks of its process. Every rank of
  // this process calls it. DeadlineExceeded as above.
  [[nodiscard]] StatusOr<std::string> NameOf(int rank);
  // Tells the other ranks why this one stops, so that their errors can say so.
  void Leave(std::string_view reason) { seat_.host->Leave(seat_.index, reason); }

 private:
  Communicator(std::unique_ptr<HostedRanks> alone, RankSeat seat)
      : alone_(std::move(alone)), seat_(seat) {}

  const std::unique_ptr<HostedRanks> alone_;  // of a rank that shares its process with none
  const RankSeat seat_;
};

}  // namespace halograph
