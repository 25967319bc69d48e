// The ranks of a run and what they do together: c10d over Gloo. With one rank nothing is opened
// and every collective returns at once.
// Not thread-safe: all ranks must call the same collectives in the same order. After an error of
// a collective only Leave and the destructor may follow.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "trainer/distributed/rendezvous.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

class Communicator {
 public:
  // Waits for all ranks and connects them. Errors as Rendezvous::Join; Unavailable if the
  // connections fail.
  [[nodiscard]] static StatusOr<std::unique_ptr<Communicator>> Join(const GroupOptions& options);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const { return options_.rank; }
  [[nodiscard]] int world_size() const { return options_.world_size; }

  // Collectives. `what` names the purpose in errors. Every one ends within the timeout:
  //   Unavailable  a rank stopped or does not answer: this rank, the purpose, the culprit and,
  //                where it said so, its reason are named
  // In place, the sum over ranks; the same bits on every rank.
  [[nodiscard]] Status AllReduceSum(torch::Tensor tensor, std::string_view what);
  // In place, rank 0's values.
  [[nodiscard]] Status Broadcast(torch::Tensor tensor, std::string_view what);
  // Rank 0 gets every rank's tensor, in order of rank; the others an empty vector. All of the same
  // shape and dtype.
  [[nodiscard]] StatusOr<std::vector<torch::Tensor>> Gather(torch::Tensor tensor,
                                                            std::string_view what);
  [[nodiscard]] Status Barrier(std::string_view what);

  // As Rendezvous::Agree.
  [[nodiscard]] Status Agree(const Json& facts);
  // Tells the other ranks why this one stops, so that their errors can say so.
  void Leave(std::string_view reason);

 private:
  explicit Communicator(const GroupOptions& options) : options_(options) {}
  template <typename Collective>
  [[nodiscard]] Status Run(std::string_view what, const Collective& collective);

  const GroupOptions options_;
  std::unique_ptr<Rendezvous> rendezvous_;  // null with one rank
  c10::intrusive_ptr<GlooGroup> group_;     // null with one rank
};

}  // namespace halograph
