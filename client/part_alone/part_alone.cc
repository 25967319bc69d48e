#include "client/part_alone/part_alone.h"

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

Stores MakePartAloneStores(const std::shared_ptr<const PartAlone>& part) {
  return {.graph = MakeOwnPartGraphStore(part->own, MakeHaloGraphStore(part)),
          .rows = MakeOwnPartRowStore(part->own, MakeHaloRowStore(part)),
          .tasks = MakeLocalTaskSets(part->own)};
}

}  // namespace halograph
