#include "client/part_alone/part_alone.h"

#include <utility>

#include "client/own_part/own_part_store.h"

namespace halograph {

StatusOr<std::shared_ptr<const PartAlone>> OpenPartAlone(const std::filesystem::path& graph,
                                                         int part, VerifyLevel verify,
                                                         int threads) {
  auto alone = std::make_shared<PartAlone>();
  HG_ASSIGN_OR_RETURN(
      alone->own,
      MapGraph(graph,
               {.parts = {part}, .verify = verify, .threads = threads, .own_task_rows = true}));
  HG_ASSIGN_OR_RETURN(alone->halo, Halo::Open(graph / PartFolderName(part),
                                              *alone->own->parts->Find(part), verify));
  return alone;
}

std::unique_ptr<GraphStore> MakePartAloneGraphStore(std::shared_ptr<const PartAlone> part) {
  auto own = part->own;
  return MakeOwnPartGraphStore(std::move(own), MakeHaloGraphStore(std::move(part)));
}

std::unique_ptr<KVStore> MakePartAloneKVStore(std::shared_ptr<const PartAlone> part) {
  auto own = part->own;
  return MakeOwnPartKVStore(std::move(own), MakeHaloKVStore(std::move(part)));
}

}  // namespace halograph
