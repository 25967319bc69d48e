// The processes of a run and what they do together: c10d over Gloo. With one process nothing is
// opened and every collective returns at once, leaving its tensors as they are.
// Not thread-safe: all processes must call the same collectives in the same order. After an error
// of a collective only Leave and the destructor may follow. Two groups that stand beside each other
// may be used by two threads.
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

class ProcessGroup {
 public:
  // Waits for all processes and connects them. From then on this process ignores SIGPIPE: a
  // connection that another one closed is an error of the next collective. Errors as
  // Rendezvous::Join; Unavailable if the connections fail.
  [[nodiscard]] static StatusOr<std::unique_ptr<ProcessGroup>> Join(const GroupOptions& options);
  // A second group of the same processes, with connections of its own. A collective itself: the
  // processes meet here before they connect, so that one that is gone is missed at once. `what`
  // names the purpose in errors, which are as those of collectives; Unavailable, too, if the
  // connections fail.
  [[nodiscard]] StatusOr<std::unique_ptr<ProcessGroup>> Beside(std::string_view what);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  [[nodiscard]] int process() const { return options_.process; }
  [[nodiscard]] int size() const { return options_.num_processes; }

  // Collectives. `what` names the purpose in errors. Tensors are contiguous, of the same shapes and
  // dtype everywhere. Every one ends within the timeout:
  //   Unavailable  a process stopped or does not answer: this one, the purpose, the culprit and,
  //                where it said so, its reason are named
  // `sent` and `received` are [size, ...]: sent[p] becomes received[own number] of process p.
  [[nodiscard]] Status AllToAll(torch::Tensor sent, torch::Tensor received, std::string_view what);
  // `all` is [size, ...]: `own` of every process, in order.
  [[nodiscard]] Status AllGather(torch::Tensor own, torch::Tensor all, std::string_view what);
  // In place, the values of process 0.
  [[nodiscard]] Status Broadcast(torch::Tensor tensor, std::string_view what);
  // Process 0 gets every one's tensor, in order; the others an empty vector.
  [[nodiscard]] StatusOr<std::vector<torch::Tensor>> Gather(torch::Tensor tensor,
                                                            std::string_view what);
  // As Rendezvous::Agree.
  [[nodiscard]] Status Agree(const Json& facts);
  // As Rendezvous::NameOf.
  [[nodiscard]] std::string NameOf(int process);
  // Tells the other processes why this one stops, so that their errors can say so. `beside`: a
  // group that is left as well, or null.
  void Leave(std::string_view reason, ProcessGroup* beside = nullptr);

 private:
  explicit ProcessGroup(const GroupOptions& options) : options_(options) {}
  template <typename Collective>
  [[nodiscard]] Status Run(std::string_view what, const Collective& collective);

  const GroupOptions options_;
  std::shared_ptr<Rendezvous> rendezvous_;  // of the groups beside, too; null with one process
  c10::intrusive_ptr<GlooGroup> group_;     // null with one process
};

}  // namespace halograph
