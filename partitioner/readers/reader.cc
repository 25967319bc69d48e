#include "partitioner/readers/reader.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/ranges.h>

#include "partitioner/readers/edge_filters.h"
#include "partitioner/readers/edge_list.h"
#include "partitioner/readers/format_clues.h"
#include "partitioner/readers/graphbolt.h"
#include "partitioner/readers/input_files.h"
#include "partitioner/readers/line_reader.h"
#include "partitioner/readers/matrix_market.h"
#include "partitioner/readers/metis_file.h"
#include "partitioner/readers/ogb.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// METIS graphs have nothing that tells them from other files of numbers: see CountedFormat.
StatusOr<std::string> DetectFileFormat(const fs::path& input) {
  HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(input, "looking at"));
  std::string_view line;
  HG_ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
  return more && IsMatrixMarketBanner(line) ? "matrixmarket" : "edgelist";
}

StatusOr<std::string> DetectFormat(const fs::path& input) {
  std::error_code error;
  if (!fs::is_directory(input, error)) return DetectFileFormat(input);
  if (Exists(input / "metadata.yaml")) return "graphbolt";
  if (Exists(input / "raw")) return "ogb";
  if (Exists(input / "metadata.json")) {
    return Unimplemented(
        "{}: this looks like DGL's chunked graph, which is not supported: convert it to a "
        "GraphBolt folder (metadata.yaml with numpy files)",
        (input / "metadata.json").string());
  }
  return InvalidArgument(
      "{}: cannot tell the format of this folder: it has no metadata.yaml (GraphBolt), no raw/ "
      "(OGB) and no metadata.json (DGL)",
      input.string());
}

Status CheckOptions(const ReadOptions& options, const std::string& format) {
  if (options.num_nodes >= 0 && format != "edgelist") {
    return InvalidArgument("--num-nodes is for edge lists, but the input's format is {}", format);
  }
  if (!options.edge_columns.empty() && format != "edgelist") {
    return InvalidArgument("--edge-columns is for edge lists, but the input's format is {}",
                           format);
  }
  if (options.skip_lines > 0 && format != "edgelist") {
    return InvalidArgument("--skip-lines is for edge lists, but the input's format is {}", format);
  }
  if (options.undirected && format == "metis") {
    return InvalidArgument(
        "--undirected is not for METIS graphs, which list each edge at both ends already: leave it "
        "out");
  }
  if (!options.task.empty() && format != "ogb") {
    return InvalidArgument("--task is for OGB folders, but the input's format is {}", format);
  }
  return OkStatus();
}

// A format of one file is not asked to read a folder.
Status CheckIsFile(const fs::path& input, const std::string& format) {
  std::error_code error;
  if (!fs::is_directory(input, error)) return OkStatus();
  return InvalidArgument("{}: a folder, but --format {} reads a file: name the file",
                         input.string(), format);
}

StatusOr<Dataset> ReadFormat(const fs::path& input, const std::string& format,
                             const ReadOptions& options, Scratch* scratch) {
  if (format == "graphbolt") return ReadGraphBolt(input, scratch);
  if (format == "ogb") return ReadOgb(input, options.task, scratch);
  if (std::find(std::begin(kInputFormats), std::end(kInputFormats), format) ==
      std::end(kInputFormats)) {
    return InvalidArgument("unknown format `{}`, expected auto, {}", format,
                           fmt::join(kInputFormats, ", "));
  }
  HG_RETURN_IF_ERROR(CheckIsFile(input, format));
  if (format == "matrixmarket") return ReadMatrixMarket(input, options.undirected, scratch);
  if (format == "metis") return ReadMetisFile(input, scratch);
  return ReadEdgeList(input,
                      {.num_nodes = options.num_nodes,
                       .columns = options.edge_columns,
                       .skip_lines = options.skip_lines,
                       .guessed = options.format == "auto"},
                      scratch);
}

Status CheckCounts(const fs::path& input, const Dataset& dataset) {
  int64_t left = kMaxNodes;
  for (const InputNodeType& node_type : dataset.node_types) {
    if (node_type.count > left) {
      return InvalidArgument(
          "{}: {} nodes of type `{}` make more than {} nodes in all, which no graph has; check the "
          "number of nodes that the input gives",
          input.string(), node_type.count, node_type.name, kMaxNodes);
    }
    left -= node_type.count;
  }
  return OkStatus();
}

// Readers keep the order of their description; the graph's order is that of bytes.
void SortByName(Dataset* dataset) {
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  const auto by_tensor = [](const InputTensor& a, const InputTensor& b) {
    return a.spec.name < b.spec.name;
  };
  std::sort(dataset->node_types.begin(), dataset->node_types.end(), by_name);
  std::sort(dataset->relations.begin(), dataset->relations.end(),
            [](const InputRelation& a, const InputRelation& b) { return a.triple() < b.triple(); });
  for (InputNodeType& node_type : dataset->node_types) {
    std::sort(node_type.features.begin(), node_type.features.end(), by_tensor);
  }
  for (InputRelation& relation : dataset->relations) {
    std::sort(relation.features.begin(), relation.features.end(), by_tensor);
  }
}

std::string_view PolicyName(EdgePolicy policy) {
  return policy == EdgePolicy::kKeep ? "keep" : "drop";
}

StatusOr<EdgePolicy> GetPolicy(const Json& object, std::string_view key, std::string_view where) {
  HG_ASSIGN_OR_RETURN(const std::string word, GetString(object, key, where));
  if (word == "keep") return EdgePolicy::kKeep;
  if (word == "drop") return EdgePolicy::kDrop;
  return DataLoss("{}: field `{}` is `{}`, expected keep or drop", where, key, word);
}

StatusOr<std::vector<std::string>> GetStrings(const Json& object, std::string_view key,
                                              std::string_view where) {
  HG_ASSIGN_OR_RETURN(const Json list, GetArray(object, key, where));
  std::vector<std::string> texts;
  for (const Json& item : list) {
    if (!item.is_string()) {
      return DataLoss("{}: field `{}` holds {}, expected text", where, key, CanonicalJson(item));
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

}  // namespace

Json ReadOptions::ToJson() const {
  Json value = {{"format", format},
                {"undirected", undirected},
                {"self_loops", PolicyName(self_loops)},
                {"duplicates", PolicyName(duplicates)},
                {"num_nodes", num_nodes},
                {"task", task}};
  if (!edge_columns.empty()) value["edge_columns"] = edge_columns;
  if (skip_lines > 0) value["skip_lines"] = skip_lines;
  if (undirected) value["reverse_loops"] = reverse_loops;
  return value;
}

StatusOr<ReadOptions> ReadOptions::FromJson(const Json& value, std::string_view where) {
  ReadOptions options;
  HG_ASSIGN_OR_RETURN(options.format, GetString(value, "format", where));
  const auto undirected = value.find("undirected");
  if (undirected == value.end() || !undirected->is_boolean()) {
    return DataLoss("{}: field `undirected` is missing or not true or false", where);
  }
  options.undirected = undirected->get<bool>();
  const auto reverse_loops = value.find("reverse_loops");
  if (reverse_loops != value.end() && !reverse_loops->is_boolean()) {
    return DataLoss("{}: field `reverse_loops` is not true or false", where);
  }
  options.reverse_loops =
      options.undirected && (reverse_loops == value.end() || reverse_loops->get<bool>());
  HG_ASSIGN_OR_RETURN(options.self_loops, GetPolicy(value, "self_loops", where));
  HG_ASSIGN_OR_RETURN(options.duplicates, GetPolicy(value, "duplicates", where));
  HG_ASSIGN_OR_RETURN(options.num_nodes, GetInt(value, "num_nodes", where));
  HG_ASSIGN_OR_RETURN(options.task, GetString(value, "task", where));
  if (value.contains("edge_columns")) {
    HG_ASSIGN_OR_RETURN(options.edge_columns, GetStrings(value, "edge_columns", where));
  }
  if (value.contains("skip_lines")) {
    HG_ASSIGN_OR_RETURN(options.skip_lines, GetInt(value, "skip_lines", where));
  }
  return options;
}

StatusOr<Dataset> OpenDataset(const fs::path& input, const ReadOptions& options) {
  if (!Exists(input)) return NotFound("{}: no such file or folder", input.string());
  // A metadata.yaml stands for the folder that it describes.
  const fs::path root = input.filename() == "metadata.yaml" ? input.parent_path() : input;
  std::string format = options.format;
  if (format == "auto") {
    HG_ASSIGN_OR_RETURN(format, DetectFormat(root.empty() ? fs::path(".") : root));
  }
  HG_RETURN_IF_ERROR(CheckOptions(options, format));
  auto scratch = std::make_shared<Scratch>(options.scratch);
  HG_ASSIGN_OR_RETURN(Dataset dataset, ReadFormat(root, format, options, scratch.get()));
  dataset.scratch = std::move(scratch);
  HG_RETURN_IF_ERROR(CheckCounts(input, dataset));
  HG_RETURN_IF_ERROR(ApplyEdgeOptions(options, &dataset));
  SortByName(&dataset);
  HG_RETURN_IF_ERROR(CheckNames(dataset));
  return dataset;
}

}  // namespace halograph
