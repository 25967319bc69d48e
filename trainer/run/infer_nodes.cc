#include "trainer/run/infer_nodes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/inference/node_list.h"
#include "trainer/training/evaluation.h"

namespace halograph {
namespace {

std::vector<std::string> NamesOf(const Schema& schema, const std::vector<int>& types) {
  std::vector<std::string> names;
  for (const int type : types) names.push_back(schema.node_types[type].name);
  return names;
}

// Those of --node-type, else all that the task predicts.
StatusOr<std::vector<int>> TypesToInfer(const Session& session, const InferOptions& infer) {
  if (infer.node_type.empty()) return session.task->predicted_types();
  const Schema& schema = session.stores.graph->info().schema;
  const std::vector<int> known = session.task->seed_types();
  for (const int type : known) {
    if (schema.node_types[type].name == infer.node_type) return std::vector{type};
  }
  return InvalidArgument("--node-type {}: task '{}' is about nodes of other types: {}",
                         infer.node_type, session.task->name(),
                         fmt::join(NamesOf(schema, known), ", "));
}

Status ChooseTestNodes(const Session& session, NodesToInfer* chosen) {
  const SeedSource* const test = session.task->source(BatchPurpose::kTest);
  if (test == nullptr || session.task->predicts_outputs()) {
    return InvalidArgument("--nodes test: task '{}' has no test set of nodes",
                           session.task->name());
  }
  chosen->passes.push_back(test);
  chosen->pass_types = session.task->seed_types();
  chosen->most_rows.assign(chosen->types.size(), test->rows());
  return OkStatus();
}

StatusOr<std::unique_ptr<SeedSource>> ListedNodes(Session& session, const InferOptions& infer,
                                                  const std::vector<int>& types) {
  if (types.size() > 1) {
    return InvalidArgument(
        "--nodes {}: original ids of one node type, and task '{}' is about several; give the one "
        "that is meant as --node-type: {}",
        infer.nodes, session.task->name(),
        fmt::join(NamesOf(session.stores.graph->info().schema, types), ", "));
  }
  auto originals = ReadNodeList(infer.nodes);
  if (!originals.ok()) return Annotate(originals.status(), "--nodes");
  auto nodes = FindNodes(session.stores, types.front(), *std::move(originals), &session.cancel);
  if (!nodes.ok()) return Annotate(nodes.status(), fmt::format("--nodes {}", infer.nodes));
  return std::make_unique<NodeSeeds>(types.front(), *std::move(nodes));
}

}  // namespace

StatusOr<NodesToInfer> ChooseNodes(Session& session, const InferOptions& infer) {
  NodesToInfer chosen;
  HG_ASSIGN_OR_RETURN(chosen.types, TypesToInfer(session, infer));
  if (infer.nodes == kTestNodes) {
    HG_RETURN_IF_ERROR(ChooseTestNodes(session, &chosen));
    return chosen;
  }
  const GraphInfo& info = session.stores.graph->info();
  chosen.pass_types = chosen.types;
  if (infer.nodes != kAllNodes) {
    HG_ASSIGN_OR_RETURN(auto listed, ListedNodes(session, infer, chosen.types));
    chosen.most_rows.push_back(listed->rows());
    chosen.own.push_back(std::move(listed));
  } else {
    for (const int type : chosen.types) {
      chosen.most_rows.push_back(info.schema.node_types[type].count);
      if (infer.exact && chosen.types.size() > 1) continue;
      chosen.own.push_back(std::make_unique<NodeRange>(type, info.book.NodeBoundaries(type)));
    }
    if (chosen.own.empty()) {
      chosen.own.push_back(std::make_unique<NodesOfTypes>(info.schema, chosen.types));
    }
  }
  for (const auto& source : chosen.own) chosen.passes.push_back(source.get());
  return chosen;
}

PredictionFiles::PredictionFiles(const Session& session, const NodesToInfer& nodes,
                                 ScratchSpace* scratch) {
  const Schema& schema = session.stores.graph->info().schema;
  const std::string& path = session.options.predict;
  for (size_t i = 0; i < nodes.types.size(); ++i) {
    const int type = nodes.types[i];
    files_.push_back(
        {.type = type,
         .path =
             nodes.types.size() == 1 ? path : PredictionPathOf(path, schema.node_types[type].name),
         .spool = PredictionSpool(session.options.predict_what, PredictionColumns(session),
                                  nodes.most_rows[i], scratch)});
  }
}

int64_t PredictionFiles::rows() const {
  int64_t rows = 0;
  for (const File& file : files_) rows += file.rows;
  return rows;
}

int64_t PredictionFiles::bytes() const {
  int64_t bytes = 0;
  for (const File& file : files_) bytes += file.spool.bytes();
  return bytes;
}

Status PredictionFiles::CheckDisk() const {
  for (const File& file : files_) HG_RETURN_IF_ERROR(file.spool.CheckDisk(file.path));
  return OkStatus();
}

Status PredictionFiles::Append(std::span<const int64_t> original_ids,
                               std::span<const int64_t> types, std::span<const std::byte> rows) {
  // Rows come type after type.
  for (size_t begin = 0; begin < types.size();) {
    const int64_t type = types[begin];
    size_t end = begin + 1;
    while (end < types.size() && types[end] == type) ++end;
    const auto file = std::find_if(files_.begin(), files_.end(),
                                   [&](const File& one) { return one.type == type; });
    if (file != files_.end()) {
      const size_t row_bytes = file->spool.row_bytes();
      HG_RETURN_IF_ERROR(
          file->spool.Append(original_ids.subspan(begin, end - begin),
                             rows.subspan(begin * row_bytes, (end - begin) * row_bytes)));
      file->rows += static_cast<int64_t>(end - begin);
    }
    begin = end;
  }
  return OkStatus();
}

Status PredictionFiles::Write() {
  for (File& file : files_) HG_RETURN_IF_ERROR(file.spool.Write(file.path));
  return OkStatus();
}

}  // namespace halograph
