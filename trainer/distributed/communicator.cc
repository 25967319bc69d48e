#include "trainer/distributed/communicator.h"

#include <cstdlib>

#include "trainer/distributed/device_address.h"

namespace halograph {
namespace {

StatusOr<c10::intrusive_ptr<GlooGroup>> OpenGroup(const GroupOptions& options,
                                                  const Rendezvous& rendezvous) {
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
  return c10::make_intrusive<GlooGroup>(rendezvous.store(), options.rank, options.world_size, gloo);
}

}  // namespace

StatusOr<std::unique_ptr<Communicator>> Communicator::Join(const GroupOptions& options) {
  std::unique_ptr<Communicator> communicator(new Communicator(options));
  if (options.world_size == 1) return communicator;
  HG_ASSIGN_OR_RETURN(communicator->rendezvous_, Rendezvous::Join(options));
  try {
    HG_ASSIGN_OR_RETURN(communicator->group_, OpenGroup(options, *communicator->rendezvous_));
  } catch (const std::exception& error) {
    return Unavailable("rank {}: connecting the ranks: {} ({})", options.rank,
                       communicator->rendezvous_->Blame(), TorchMessage(error));
  }
  return communicator;
}

Communicator::~Communicator() = default;

template <typename Collective>
Status Communicator::Run(std::string_view what, const Collective& collective) {
  if (group_ == nullptr) return OkStatus();
  try {
    collective()->wait();
    return OkStatus();
  } catch (const std::exception& error) {
    const std::string blame = rendezvous_->Blame();
    return Unavailable("rank {}: {}: {} ({})", rank(), what,
                       blame.empty() ? "connection to another rank failed" : blame,
                       TorchMessage(error));
  }
}

Status Communicator::AllReduceSum(torch::Tensor tensor, std::string_view what) {
  std::vector<torch::Tensor> tensors{std::move(tensor)};
  return Run(what, [&] { return group_->allreduce(tensors); });
}

Status Communicator::Broadcast(torch::Tensor tensor, std::string_view what) {
  std::vector<torch::Tensor> tensors{std::move(tensor)};
  return Run(what, [&] { return group_->broadcast(tensors); });
}

StatusOr<std::vector<torch::Tensor>> Communicator::Gather(torch::Tensor tensor,
                                                          std::string_view what) {
  if (group_ == nullptr) return std::vector<torch::Tensor>{std::move(tensor)};
  std::vector<std::vector<torch::Tensor>> outputs;
  if (rank() == 0) {
    outputs.emplace_back();
    for (int i = 0; i < world_size(); ++i) outputs.front().push_back(torch::empty_like(tensor));
  }
  std::vector<torch::Tensor> inputs{std::move(tensor)};
  HG_RETURN_IF_ERROR(Run(what, [&] { return group_->gather(outputs, inputs); }));
  return outputs.empty() ? std::vector<torch::Tensor>{} : std::move(outputs.front());
}

Status Communicator::Barrier(std::string_view what) {
  return AllReduceSum(torch::zeros({1}), what);
}

Status Communicator::Agree(const Json& facts) {
  return rendezvous_ == nullptr ? OkStatus() : rendezvous_->Agree(facts);
}

void Communicator::Leave(std::string_view reason) {
  if (rendezvous_ == nullptr) return;
  rendezvous_->Leave(reason);
  // Closes the connections: the others' collectives fail now instead of at their timeout.
  group_.reset();
  rendezvous_->AwaitHeard();
}

}  // namespace halograph
