#include "trainer/pipeline/edge_rows.h"

#include <algorithm>
#include <utility>

#include "common/storage/dtype.h"

namespace halograph {
namespace {

// A task's set of one relation.
struct RelationSet {
  int relation = 0;
  std::string triple;
  std::span<const int64_t> part_rows;  // of this relation alone
};

std::vector<RelationSet> SetsOf(const GraphInfo& info, const Task& task, std::string_view set) {
  std::vector<RelationSet> sets;
  for (const TaskSetSpec& spec : task.sets) {
    if (spec.set != set) continue;
    const TaskSetIndex index = *FindTaskSet(info.schema, task.name, spec.set, spec.type);
    sets.push_back({.relation = *info.schema.RelationIndex(spec.type),
                    .triple = spec.type,
                    .part_rows = info.task_rows[index.task][index.set]});
  }
  std::sort(sets.begin(), sets.end(),
            [](const RelationSet& a, const RelationSet& b) { return a.relation < b.relation; });
  return sets;
}

Status CheckLabelsAreOnes(const TaskSet& read, const std::string& where) {
  const auto labels = read.Find("labels");
  if (!labels.ok()) return OkStatus();
  const TaskArray& array = **labels;
  std::vector<double> values(array.data.size() / DTypeSize(array.spec.dtype));
  ConvertToDouble(array.spec.dtype, array.data.data(), values.size(), values.data());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 1) continue;
    return OutOfRange(
        "{}: row {} has label {}: a negative that is given. Link prediction takes every row as an "
        "edge and draws its own negatives: leave such rows out of the input",
        where, read.rows.begin + static_cast<int64_t>(i) / array.spec.dim, values[i]);
  }
  return OkStatus();
}

// Rows `rows` of one relation's set, a piece at a time.
Status ReadRange(KVStore& kv, const Task& task, std::string_view set, const RelationSet& of,
                 IdRange rows, const UseEdges& use) {
  for (int64_t begin = rows.begin; begin < rows.end; begin += kEdgesAtOnce) {
    CallContext context;
    HG_ASSIGN_OR_RETURN(const TaskSet read,
                        kv.ReadTaskSet({task.name, std::string(set), of.triple},
                                       {begin, std::min(rows.end, begin + kEdgesAtOnce)}, context));
    HG_RETURN_IF_ERROR(CheckLabelsAreOnes(
        read, fmt::format("task '{}', {} set of '{}'", task.name, set, of.triple)));
    use(of.relation, read.seeds());
  }
  return OkStatus();
}

// Rows `rows` of all relations together.
Status ReadEdges(KVStore& kv, const Task& task, std::string_view set, IdRange rows,
                 const UseEdges& use) {
  const std::vector<RelationSet> sets = SetsOf(kv.info(), task, set);
  int64_t first = 0;  // the row that the next piece begins with
  for (int part = 0; part < kv.info().book.num_parts(); ++part) {
    for (const RelationSet& of : sets) {
      const IdRange own = {of.part_rows[part], of.part_rows[part + 1]};
      const int64_t shift = own.begin - first;
      const IdRange wanted = {std::max(own.begin, rows.begin + shift),
                              std::min(own.end, rows.end + shift)};
      if (wanted.begin < wanted.end) {
        HG_RETURN_IF_ERROR(ReadRange(kv, task, set, of, wanted, use));
      }
      first += own.size();
    }
  }
  return OkStatus();
}

}  // namespace

Status CheckEdgeTask(const Schema& /*schema*/, const Task& task) {
  bool train = false;
  for (const TaskSetSpec& spec : task.sets) {
    if (!spec.edges) {
      return InvalidArgument("its {} set is of nodes ('{}'), not of edges", spec.set, spec.type);
    }
    const int64_t columns = spec.arrays.empty() ? 0 : spec.arrays.front().dim;
    if (columns != 2) {
      return InvalidArgument("its {} set of edges ('{}') has seeds of {} columns, expected 2",
                             spec.set, spec.type, columns);
    }
    train = train || (spec.set == "train" && spec.rows > 0);
  }
  if (!train) return FailedPrecondition("task '{}' has no train edges", task.name);
  return OkStatus();
}

std::vector<int> RelationsOf(const Schema& schema, const Task& task) {
  std::vector<int> relations;
  for (const TaskSetSpec& spec : task.sets) relations.push_back(*schema.RelationIndex(spec.type));
  std::sort(relations.begin(), relations.end());
  relations.erase(std::unique(relations.begin(), relations.end()), relations.end());
  return relations;
}

std::vector<int64_t> EdgePartRows(const GraphInfo& info, const Task& task, std::string_view set) {
  const std::vector<RelationSet> sets = SetsOf(info, task, set);
  if (sets.empty()) return {};
  std::vector<int64_t> part_rows(static_cast<size_t>(info.book.num_parts()) + 1);
  for (const RelationSet& of : sets) {
    for (size_t part = 0; part < part_rows.size(); ++part) part_rows[part] += of.part_rows[part];
  }
  return part_rows;
}

StatusOr<EdgeRows> ReadEdgeRows(KVStore& kv, const Task& task, std::string_view set,
                                RankOfWorld who) {
  EdgeRows rows;
  rows.part_rows = EdgePartRows(kv.info(), task, set);
  if (rows.part_rows.empty()) return rows;
  const IdRange shard = SplitRows(rows.part_rows, who.world_size).of_rank[who.rank];
  rows.first_row = shard.begin;
  const auto count = static_cast<size_t>(shard.size());
  rows.sources.reserve(count);
  rows.destinations.reserve(count);
  rows.relations.reserve(count);
  HG_RETURN_IF_ERROR(
      ReadEdges(kv, task, set, shard, [&](int relation, std::span<const int64_t> pairs) {
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
          rows.sources.push_back(pairs[i]);
          rows.destinations.push_back(pairs[i + 1]);
          rows.relations.push_back(relation);
        }
      }));
  return rows;
}

Status ForEachEdge(KVStore& kv, const Task& task, std::string_view set, const UseEdges& use) {
  const std::vector<int64_t> part_rows = EdgePartRows(kv.info(), task, set);
  if (part_rows.empty()) return OkStatus();
  return ReadEdges(kv, task, set, {0, part_rows.back()}, use);
}

}  // namespace halograph
