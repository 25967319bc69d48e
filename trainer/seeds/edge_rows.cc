#include "trainer/seeds/edge_rows.h"

#include <algorithm>

#include "common/storage/dtype.h"
#include "trainer/seeds/labeled_seeds.h"

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

// `zero`: whether a label of 0 is right.
Status WrongLabel(std::string_view set, bool zero, const std::string& where, int64_t row,
                  double label) {
  if (set == "train" && label == 0) {
    return OutOfRange(
        "{}: row {} has label 0: a negative that is given. Only validation and test sets have such "
        "rows, since training draws its own negatives: leave them out of the train set",
        where, row);
  }
  return OutOfRange(
      "{}: row {} has label {}: expected 1, an edge{}. Correct it, or leave the row out", where,
      row, label, zero ? ", or 0, a negative that is given" : "");
}

// Which rows of a piece of a set are negatives; empty: none.
StatusOr<std::vector<bool>> GivenNegatives(const TaskSet& read, const std::string& where) {
  std::vector<bool> given;
  const auto labels = read.Find("labels");
  if (!labels.ok()) return given;
  const TaskArray& array = **labels;
  const bool zero = read.spec.set != "train" && array.spec.dim == 1;
  std::vector<double> values(array.data.size() / DTypeSize(array.spec.dtype));
  ConvertToDouble(array.spec.dtype, array.data.data(), values.size(), values.data());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 1) continue;
    if (!zero || values[i] != 0) {
      return WrongLabel(read.spec.set, zero, where,
                        read.rows.begin + static_cast<int64_t>(i) / array.spec.dim, values[i]);
    }
    given.resize(values.size());
    given[i] = true;
  }
  return given;
}

// Rows `rows` of one relation's set, a piece at a time.
Status ReadRange(const Stores& stores, const Task& task, std::string_view set,
                 const RelationSet& of, IdRange rows, const UseRows& use) {
  for (int64_t begin = rows.begin; begin < rows.end; begin += kEdgesAtOnce) {
    CallContext context;
    HG_ASSIGN_OR_RETURN(
        const TaskSet read,
        stores.tasks->Read({task.name, std::string(set), of.triple},
                           {begin, std::min(rows.end, begin + kEdgesAtOnce)}, context));
    const std::string where = fmt::format("task '{}', {} set of '{}'", task.name, set, of.triple);
    HG_ASSIGN_OR_RETURN(const std::vector<bool> given, GivenNegatives(read, where));
    use(of.relation, read.seeds(), given);
  }
  return OkStatus();
}

bool HasLabels(const Task& task, std::string_view set) {
  return std::any_of(task.sets.begin(), task.sets.end(), [&](const TaskSetSpec& spec) {
    return spec.set == set &&
           std::any_of(spec.arrays.begin(), spec.arrays.end(),
                       [](const TensorSpec& array) { return array.name == "labels"; });
  });
}

}  // namespace

Status CheckEdgeTask(const Schema& /*schema*/, const Task& task) {
  for (const TaskSetSpec& spec : task.sets) {
    if (!spec.edges) {
      return InvalidArgument("its {} set is of nodes ('{}'), not of edges", spec.set, spec.type);
    }
    const int64_t columns = spec.arrays.empty() ? 0 : spec.arrays.front().dim;
    if (columns != 2) {
      return InvalidArgument("its {} set of edges ('{}') has seeds of {} columns, expected 2",
                             spec.set, spec.type, columns);
    }
  }
  if (!HasRows(task, "train")) return FailedPrecondition("task '{}' has no train edges", task.name);
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

StatusOr<EdgeRows> ReadEdgeRows(const Stores& stores, const Task& task, std::string_view set,
                                RankOfWorld who) {
  EdgeRows rows;
  rows.part_rows = EdgePartRows(stores.graph->info(), task, set);
  if (rows.part_rows.empty()) return rows;
  const IdRange shard = SplitRows(rows.part_rows, who.world_size).of_rank[who.rank];
  rows.first_row = shard.begin;
  const auto count = static_cast<size_t>(shard.size());
  rows.sources.reserve(count);
  rows.destinations.reserve(count);
  rows.relations.reserve(count);
  HG_RETURN_IF_ERROR(ForEachRow(
      stores, task, set, shard,
      [&](int relation, std::span<const int64_t> pairs, const std::vector<bool>& given) {
        if (!given.empty()) {
          rows.given_negative.resize(rows.sources.size());
          rows.given_negative.insert(rows.given_negative.end(), given.begin(), given.end());
        }
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
          rows.sources.push_back(pairs[i]);
          rows.destinations.push_back(pairs[i + 1]);
          rows.relations.push_back(relation);
        }
      }));
  if (!rows.given_negative.empty()) rows.given_negative.resize(rows.sources.size());
  return rows;
}

Status ForEachRow(const Stores& stores, const Task& task, std::string_view set, IdRange rows,
                  const UseRows& use) {
  const std::vector<RelationSet> sets = SetsOf(stores.graph->info(), task, set);
  int64_t first = 0;  // the row that the next piece begins with
  for (int part = 0; part < stores.graph->info().book.num_parts(); ++part) {
    for (const RelationSet& of : sets) {
      const IdRange own = {of.part_rows[part], of.part_rows[part + 1]};
      const int64_t shift = own.begin - first;
      const IdRange wanted = {std::max(own.begin, rows.begin + shift),
                              std::min(own.end, rows.end + shift)};
      if (wanted.begin < wanted.end) {
        HG_RETURN_IF_ERROR(ReadRange(stores, task, set, of, wanted, use));
      }
      first += own.size();
    }
  }
  return OkStatus();
}

Status ForEachEdge(const Stores& stores, const Task& task, std::string_view set,
                   const UseEdges& use) {
  const std::vector<int64_t> part_rows = EdgePartRows(stores.graph->info(), task, set);
  if (part_rows.empty()) return OkStatus();
  std::vector<int64_t> edges;
  return ForEachRow(
      stores, task, set, {0, part_rows.back()},
      [&](int relation, std::span<const int64_t> pairs, const std::vector<bool>& given) {
        if (given.empty()) return use(relation, pairs);
        edges.clear();
        for (size_t i = 0; i < given.size(); ++i) {
          if (given[i]) continue;
          edges.insert(edges.end(), {pairs[2 * i], pairs[2 * i + 1]});
        }
        use(relation, edges);
      });
}

StatusOr<RowKinds> CountRowKinds(const Stores& stores, const Task& task, std::string_view set,
                                 int64_t enough) {
  RowKinds kinds;
  const std::vector<int64_t> part_rows = EdgePartRows(stores.graph->info(), task, set);
  if (part_rows.empty()) return kinds;
  if (!HasLabels(task, set)) return RowKinds{.edges = part_rows.back()};
  for (int64_t begin = 0; begin < part_rows.back(); begin += kEdgesAtOnce) {
    const IdRange piece = {begin, std::min(part_rows.back(), begin + kEdgesAtOnce)};
    HG_RETURN_IF_ERROR(ForEachRow(
        stores, task, set, piece,
        [&](int /*relation*/, std::span<const int64_t> pairs, const std::vector<bool>& given) {
          const int64_t negatives = std::count(given.begin(), given.end(), true);
          kinds.given_negatives += negatives;
          kinds.edges += std::ssize(pairs) / 2 - negatives;
        }));
    if (kinds.edges > 0 && kinds.given_negatives >= enough) break;
  }
  return kinds;
}

}  // namespace halograph
