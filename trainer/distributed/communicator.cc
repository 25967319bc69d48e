#include "trainer/distributed/communicator.h"

#include <utility>

namespace halograph {
namespace {

// Of one rank: what it has to gather, and what it gets.
struct Gathering {
  torch::Tensor own;
  std::vector<torch::Tensor> all;
};

Status GatherTogether(std::span<Gathering* const> brought, ProcessGroup& processes,
                      std::string_view what) {
  std::vector<torch::Tensor> here;
  for (const Gathering* const one : brought) here.push_back(one->own);
  HG_ASSIGN_OR_RETURN(const std::vector<torch::Tensor> of_processes,
                      processes.Gather(torch::stack(here), what));
  for (const torch::Tensor& ranks : of_processes) {
    for (int64_t i = 0; i < ranks.size(0); ++i) brought[0]->all.push_back(ranks[i]);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<Communicator>> Communicator::Join(const GroupOptions& options) {
  auto alone = std::make_unique<HostedRanks>(options.process, options.num_processes, 1);
  HG_RETURN_IF_ERROR(alone->Join(0, options));
  const RankSeat seat{alone.get(), 0};
  return std::unique_ptr<Communicator>(new Communicator(std::move(alone), seat));
}

StatusOr<std::unique_ptr<Communicator>> Communicator::Join(const GroupOptions& options,
                                                           RankSeat seat) {
  HG_RETURN_IF_ERROR(seat.host->Join(seat.index, options));
  return std::unique_ptr<Communicator>(new Communicator(nullptr, seat));
}

Status Communicator::AllReduceSum(torch::Tensor tensor, std::string_view what, CarriedAs carried) {
  if (world_size() == 1) return OkStatus();
  const HostedRanks::Together<torch::Tensor> sum = [&](auto brought, ProcessGroup& processes) {
    std::vector<torch::Tensor> own;
    for (const torch::Tensor* const one : brought) own.push_back(*one);
    return OrderedSum(own, processes, what, carried);
  };
  return seat_.host->Meet(seat_.index, &tensor, what, sum);
}

Status Communicator::Broadcast(torch::Tensor tensor, std::string_view what) {
  if (world_size() == 1) return OkStatus();
  if (!tensor.device().is_cpu()) {
    const torch::Tensor host = tensor.to(torch::kCPU);
    HG_RETURN_IF_ERROR(Broadcast(host, what));
    tensor.copy_(host);
    return OkStatus();
  }
  const HostedRanks::Together<torch::Tensor> give = [&](auto brought,
                                                        ProcessGroup& processes) -> Status {
    const torch::NoGradGuard no_grad;
    HG_RETURN_IF_ERROR(processes.Broadcast(*brought[0], what));
    for (torch::Tensor* const other : brought.subspan(1)) other->copy_(*brought[0]);
    return OkStatus();
  };
  return seat_.host->Meet(seat_.index, &tensor, what, give);
}

StatusOr<std::vector<torch::Tensor>> Communicator::Gather(torch::Tensor tensor,
                                                          std::string_view what) {
  if (world_size() == 1) return std::vector<torch::Tensor>{std::move(tensor)};
  Gathering own{.own = std::move(tensor), .all = {}};
  const HostedRanks::Together<Gathering> gather = [&](auto brought, ProcessGroup& processes) {
    return GatherTogether(brought, processes, what);
  };
  HG_RETURN_IF_ERROR(seat_.host->Meet(seat_.index, &own, what, gather));
  return std::move(own.all);
}

Status Communicator::Barrier(std::string_view what) {
  return AllReduceSum(torch::zeros({1}), what);
}

StatusOr<std::unique_ptr<Communicator>> Communicator::Beside(std::string_view what) {
  HG_ASSIGN_OR_RETURN(HostedRanks * beside, seat_.host->Beside(seat_.index, what));
  return std::unique_ptr<Communicator>(new Communicator(nullptr, {beside, seat_.index}));
}

Status Communicator::Agree(const Json& facts) {
  if (world_size() == 1) return OkStatus();
  Json own = facts;
  const HostedRanks::Together<Json> agree = [&](auto brought, ProcessGroup& processes) -> Status {
    for (size_t i = 1; i < brought.size(); ++i) {
      HG_RETURN_IF_ERROR(CheckAlike(*brought[i], seat_.host->RankOf(static_cast<int>(i)),
                                    *brought[0], seat_.host->RankOf(0)));
    }
    return processes.Agree(*brought[0]);
  };
  return seat_.host->Meet(seat_.index, &own, "comparing settings", agree);
}

StatusOr<std::string> Communicator::NameOf(int rank) {
  std::string own;
  const HostedRanks::Together<std::string> ask = [&](auto brought, ProcessGroup& processes) {
    const std::string name = processes.NameOf(rank / seat_.host->count());
    for (std::string* const one : brought) *one = name;
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(seat_.host->Meet(seat_.index, &own, "asking for the name of a rank", ask));
  return own;
}

}  // namespace halograph
