#include "trainer/distributed/process_group.h"

#include <csignal>
#include <cstdlib>
#include <utility>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "trainer/distributed/device_address.h"

namespace halograph {
namespace {

constexpr char kBesidePrefix[] = "halograph/beside";  // in front of keys of the second group

StatusOr<c10::intrusive_ptr<GlooGroup>> OpenGroup(const GroupOptions& options,
                                                  c10::intrusive_ptr<::c10d::Store> store) {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout);
  auto gloo = GlooGroup::Options::create(timeout);
  gloo->threads = 1;  // collectives come one after the other
  // The variable that users of Gloo know; it wins.
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME"); interface != nullptr) {
    gloo->devices.push_back(GlooGroup::createDeviceForInterface(interface));
  } else {
    HG_ASSIGN_OR_RETURN(const std::string address,
                        LocalAddressTowards(options.master_addr, options.master_port));
    gloo->devices.push_back(GlooGroup::createDeviceForHostname(address));
  }
  return c10::make_intrusive<GlooGroup>(std::move(store), options.process, options.num_processes,
                                        gloo);
}

}  // namespace

StatusOr<std::unique_ptr<ProcessGroup>> ProcessGroup::Join(const GroupOptions& options) {
  std::unique_ptr<ProcessGroup> group(new ProcessGroup(options));
  if (options.num_processes == 1) return group;
  // c10d's store writes to sockets that may be closed, and lets the signal come, which would end
  // this process without a word.
  std::signal(SIGPIPE, SIG_IGN);
  HG_ASSIGN_OR_RETURN(group->rendezvous_, Rendezvous::Join(options));
  try {
    HG_ASSIGN_OR_RETURN(group->group_, OpenGroup(options, group->rendezvous_->store()));
  } catch (const std::exception& error) {
    return Unavailable("{}: connecting the ranks: {} ({})", options.NameOf(options.process),
                       group->rendezvous_->Blame(), TorchMessage(error));
  }
  return group;
}

StatusOr<std::unique_ptr<ProcessGroup>> ProcessGroup::Beside(std::string_view what) {
  std::unique_ptr<ProcessGroup> group(new ProcessGroup(options_));
  if (group_ == nullptr) return group;
  HG_RETURN_IF_ERROR(AllGather(torch::zeros({1}), torch::empty({size(), 1}), what));
  group->rendezvous_ = rendezvous_;
  try {
    HG_ASSIGN_OR_RETURN(group->group_,
                        OpenGroup(options_, c10::make_intrusive<::c10d::PrefixStore>(
                                                kBesidePrefix, rendezvous_->store())));
  } catch (const std::exception& error) {
    return Unavailable("{}: {}: {} ({})", options_.NameOf(process()), what, rendezvous_->Blame(),
                       TorchMessage(error));
  }
  return group;
}

ProcessGroup::~ProcessGroup() = default;

template <typename Collective>
Status ProcessGroup::Run(std::string_view what, const Collective& collective) {
  if (group_ == nullptr) return OkStatus();
  try {
    collective()->wait();
    return OkStatus();
  } catch (const std::exception& error) {
    const std::string blame = rendezvous_->Blame();
    return Unavailable("{}: {}: {} ({})", options_.NameOf(process()), what,
                       blame.empty() ? "connection to another rank failed" : blame,
                       TorchMessage(error));
  }
}

Status ProcessGroup::AllToAll(torch::Tensor sent, torch::Tensor received, std::string_view what) {
  std::vector<int64_t> equal_parts;  // of what is sent, and of what is received
  return Run(what, [&] { return group_->alltoall_base(received, sent, equal_parts, equal_parts); });
}

Status ProcessGroup::AllGather(torch::Tensor own, torch::Tensor all, std::string_view what) {
  std::vector<std::vector<torch::Tensor>> outputs(1);
  for (int64_t i = 0; i < all.size(0); ++i) outputs[0].push_back(all[i]);
  std::vector<torch::Tensor> inputs{std::move(own)};
  return Run(what, [&] { return group_->allgather(outputs, inputs); });
}

Status ProcessGroup::Broadcast(torch::Tensor tensor, std::string_view what) {
  std::vector<torch::Tensor> tensors{std::move(tensor)};
  return Run(what, [&] { return group_->broadcast(tensors); });
}

StatusOr<std::vector<torch::Tensor>> ProcessGroup::Gather(torch::Tensor tensor,
                                                          std::string_view what) {
  if (group_ == nullptr) return std::vector<torch::Tensor>{std::move(tensor)};
  std::vector<std::vector<torch::Tensor>> outputs;
  if (process() == 0) {
    outputs.emplace_back();
    for (int i = 0; i < size(); ++i) outputs.front().push_back(torch::empty_like(tensor));
  }
  std::vector<torch::Tensor> inputs{std::move(tensor)};
  HG_RETURN_IF_ERROR(Run(what, [&] { return group_->gather(outputs, inputs); }));
  return outputs.empty() ? std::vector<torch::Tensor>{} : std::move(outputs.front());
}

Status ProcessGroup::Agree(const Json& facts) {
  return rendezvous_ == nullptr ? OkStatus() : rendezvous_->Agree(facts);
}

std::string ProcessGroup::NameOf(int process) {
  return rendezvous_ == nullptr ? options_.NameOf(process) : rendezvous_->NameOf(process);
}

void ProcessGroup::Leave(std::string_view reason, ProcessGroup* beside) {
  if (rendezvous_ == nullptr) return;
  rendezvous_->Leave(reason);
  // Closes the connections: the others' collectives fail now instead of at their timeout.
  group_.reset();
  if (beside != nullptr) beside->group_.reset();
  rendezvous_->AwaitHeard();
}

}  // namespace halograph
