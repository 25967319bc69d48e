#include "trainer/seeds/train_nodes.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "common/base/rng.h"
#include "trainer/seeds/labeled_seeds.h"

namespace halograph {
namespace {

constexpr int64_t kRowsAtOnce = int64_t{1} << 20;

// The node type of each column of a set's seeds.
StatusOr<std::vector<int>> TypesOfColumns(const Schema& schema, const TaskSetSpec& spec) {
  if (!spec.edges) {
    HG_ASSIGN_OR_RETURN(const int type, schema.NodeTypeIndex(spec.type));
    return std::vector<int>{type};
  }
  HG_ASSIGN_OR_RETURN(const int relation, schema.RelationIndex(spec.type));
  return std::vector<int>{schema.SourceType(relation), schema.DestinationType(relation)};
}

// Marks the nodes of one set, by node type.
Status Mark(const Stores& stores, const Task& task, const TaskSetSpec& spec,
            const std::vector<bool>& wanted, const CancelToken* cancel,
            std::vector<std::vector<bool>>* marks) {
  const Schema& schema = stores.graph->info().schema;
  HG_ASSIGN_OR_RETURN(const std::vector<int> types, TypesOfColumns(schema, spec));
  if (std::none_of(types.begin(), types.end(), [&](int type) { return wanted[type]; })) {
    return OkStatus();
  }
  for (const int type : types) {
    (*marks)[type].resize(static_cast<size_t>(schema.node_types[type].count));
  }
  for (int64_t begin = 0; begin < spec.rows; begin += kRowsAtOnce) {
    CallContext context{.cancel = cancel};
    HG_ASSIGN_OR_RETURN(
        const TaskSet set,
        stores.tasks->Read({task.name, spec.set, spec.type},
                           {begin, std::min(spec.rows, begin + kRowsAtOnce)}, context));
    const std::span<const int64_t> seeds = set.seeds();
    for (size_t i = 0; i < seeds.size(); ++i) {
      (*marks)[types[i % types.size()]][static_cast<size_t>(seeds[i])] = true;
    }
  }
  return OkStatus();
}

std::vector<int64_t> Marked(const std::vector<bool>& marks) {
  std::vector<int64_t> ids;
  ids.reserve(static_cast<size_t>(std::count(marks.begin(), marks.end(), true)));
  for (size_t id = 0; id < marks.size(); ++id) {
    if (marks[id]) ids.push_back(static_cast<int64_t>(id));
  }
  return ids;
}

}  // namespace

StatusOr<std::vector<std::vector<int64_t>>> NodesOfTrainSet(const Stores& stores,
                                                            const std::string& task,
                                                            const std::vector<bool>& wanted,
                                                            const CancelToken* cancel) {
  const Schema& schema = stores.graph->info().schema;
  HG_ASSIGN_OR_RETURN(const int index, ChooseTask(schema, task));
  std::vector<std::vector<bool>> marks(schema.node_types.size());
  for (const TaskSetSpec& spec : schema.tasks[index].sets) {
    if (spec.set != "train") continue;
    HG_RETURN_IF_ERROR(Mark(stores, schema.tasks[index], spec, wanted, cancel, &marks));
  }
  std::vector<std::vector<int64_t>> nodes(marks.size());
  for (size_t type = 0; type < marks.size(); ++type) {
    if (wanted[type]) nodes[type] = Marked(marks[type]);
  }
  return nodes;
}

// Floyd's way: as many draws as ids.
std::vector<int64_t> DrawNodes(int64_t count, int64_t most, uint64_t key) {
  std::vector<int64_t> ids;
  if (count <= most) {
    ids.resize(static_cast<size_t>(count));
    std::iota(ids.begin(), ids.end(), int64_t{0});
    return ids;
  }
  CounterRng rng(key);
  std::unordered_set<int64_t> taken;
  for (int64_t last = count - most; last < count; ++last) {
    const auto drawn = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(last) + 1));
    ids.push_back(taken.insert(drawn).second ? drawn : last);
    taken.insert(ids.back());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace halograph
