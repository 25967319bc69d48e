// Whose rows are in memory, and whose are beyond it.
#include <algorithm>
#include <utility>

#include "common/base/units.h"
#include "common/state/engine/store.h"

namespace halograph {
namespace {

constexpr int64_t kLeastCacheBytes = int64_t{8} << 20;

}  // namespace

int64_t Store::RoomBeside(int64_t used) const {
  return options_.memory_bytes - used - (row_space_.expired() ? 0 : row_cache_bytes_);
}

// The sets of all come first: so tensors that had room once have it at every start, whichever of
// them have their rows in memory then.
Status Store::MakeTensors(const std::vector<CatalogueTensor>& tensors, int64_t* used,
                          TensorMap* made) {
  std::vector<const CatalogueTensor*> beyond;
  std::vector<LiveTensor::Size> sizes;
  for (const CatalogueTensor& tensor : tensors) {
    HG_ASSIGN_OR_RETURN(sizes.emplace_back(), LiveTensor::SizeOf(tensor.spec, graph_));
    *used += sizes.back().set_bytes;
    if (RoomBeside(*used) >= 0) continue;
    return ResourceExhausted(
        "{} takes {} of memory for its rows, and {} if they are on the disk; {} of {} are used: "
        "allow more memory for the state, or choose fewer rows",
        tensor.spec.ref.ToString(), FormatBytes(sizes.back().row_bytes),
        FormatBytes(sizes.back().set_bytes),
        FormatBytes(options_.memory_bytes - RoomBeside(*used) - sizes.back().set_bytes),
        FormatBytes(options_.memory_bytes));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (sizes[i].row_bytes > RoomBeside(*used)) {
      beyond.push_back(&tensors[i]);
      continue;
    }
    HG_ASSIGN_OR_RETURN((*made)[tensors[i].number],
                        LiveTensor::Make(tensors[i].number, tensors[i].spec, graph_,
                                         env_.scheduler(), nullptr, env_.helpers()));
    *used += sizes[i].row_bytes;
  }
  for (const CatalogueTensor* tensor : beyond) {
    HG_ASSIGN_OR_RETURN(std::shared_ptr<RowSpace> space, OpenRowSpace(RoomBeside(*used)));
    HG_ASSIGN_OR_RETURN(
        (*made)[tensor->number],
        LiveTensor::Make(tensor->number, tensor->spec, graph_, env_.scheduler(), std::move(space)));
  }
  return OkStatus();
}

// Its cache takes half of what is left when the first tensor needs it.
StatusOr<std::shared_ptr<RowSpace>> Store::OpenRowSpace(int64_t room) {
  if (std::shared_ptr<RowSpace> open = row_space_.lock()) return open;
  row_cache_bytes_ = room / 2;
  HG_ASSIGN_OR_RETURN(
      std::shared_ptr<RowSpace> space,
      env_.OpenRowSpace(options_.folder / "rows", std::max(row_cache_bytes_, kLeastCacheBytes)));
  row_space_ = space;
  return space;
}

Status Store::RemoveRowSpace() {
  const std::filesystem::path folder = options_.folder / "rows";
  if (!env_.files().List(folder).ok()) return OkStatus();
  return env_.RemoveRowSpace(folder);
}

}  // namespace halograph
