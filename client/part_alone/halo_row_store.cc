// Rows of nodes outside a part, as far as its halo has them.
#include <new>
#include <utility>
#include <vector>

#include "client/part_alone/part_alone.h"
#include "common/storage/row_gather.h"

namespace halograph {
namespace {

class HaloRowStore final : public RowStore {
 public:
  explicit HaloRowStore(std::shared_ptr<const PartAlone> part) : part_(std::move(part)) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    HG_ASSIGN_OR_RETURN(const auto tensors, CheckPull(*part_->own->tensors, requests));
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].ids.empty()) continue;
      HG_RETURN_IF_ERROR(context.Check());
      HG_RETURN_IF_ERROR(Gather(requests[i], tensors[i]->resolved));
      const size_t row_bytes = tensors[i]->resolved.spec.row_bytes();
      context.stats.local_bytes += static_cast<int64_t>(requests[i].ids.size() * row_bytes);
      context.Pulled(requests[i].tensor, PulledFrom::kLocal, requests[i].ids.size(), row_bytes);
    }
    return OkStatus();
  }

  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& /*context*/) override {
    return RefusePushes(pushes);
  }

 private:
  [[nodiscard]] Status Gather(const RowRequest& request, const ResolvedTensor& tensor) const {
    if (tensor.edge || tensor.feature < 0) {
      return FailedPrecondition(
          "{}: row {} is not of part {}, and a halo has features of nodes only",
          request.tensor.ToString(), request.ids.front(), part_->halo->manifest().part);
    }
    std::vector<int64_t> rows;
    try {
      rows.reserve(request.ids.size());
    } catch (const std::bad_alloc&) {
      return ResourceExhausted("{}: no memory to pull {} rows", request.tensor.ToString(),
                               request.ids.size());
    }
    const std::span<const int64_t> ids = part_->halo->Nodes(tensor.type);
    for (const int64_t id : request.ids) {
      rows.push_back(PositionOf(ids, id));
      if (rows.back() >= 0) continue;
      const HaloManifest& halo = part_->halo->manifest();
      return FailedPrecondition(
          "{}: row {} is neither of part {} nor in its halo of {} hops; make a halo of more hops",
          request.tensor.ToString(), id, halo.part, halo.hops);
    }
    const std::span<const std::byte> bytes =
        part_->halo->NodeFeature(tensor.type, tensor.feature).data();
    const size_t row_bytes = tensor.spec.row_bytes();
    if (row_bytes == 0) return OkStatus();
    if (request.positions.empty()) {
      GatherRows(bytes, row_bytes, 0, rows, request.out.data());
    } else {
      GatherRowsTo(bytes, row_bytes, 0, rows, request.positions, request.out.data());
    }
    return OkStatus();
  }

  const std::shared_ptr<const PartAlone> part_;
};

}  // namespace

std::unique_ptr<RowStore> MakeHaloRowStore(std::shared_ptr<const PartAlone> part) {
  return std::make_unique<HaloRowStore>(std::move(part));
}

}  // namespace halograph
