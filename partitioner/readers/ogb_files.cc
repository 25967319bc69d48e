#include "partitioner/readers/ogb_files.h"

#include <algorithm>

#include "partitioner/readers/edge_array.h"
#include "partitioner/readers/input_tensor.h"
#include "partitioner/readers/text_table.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".csv.gz";
constexpr size_t kGraphsRead = 16;  // enough to tell that there are several

Status SeveralGraphs(const fs::path& path) {
  return Unimplemented("{}: the folder holds several graphs; only a single graph can be read",
                       path.string());
}

// Names <prefix><x>.csv.gz in `folder`, ascending: x and path.
StatusOr<std::vector<std::pair<std::string, fs::path>>> FindTables(const fs::path& folder,
                                                                   const std::string& prefix) {
  std::vector<std::pair<std::string, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() > prefix.size() + kSuffix.size() && name.starts_with(prefix) &&
        name.ends_with(kSuffix)) {
      found.emplace_back(name.substr(prefix.size(), name.size() - prefix.size() - kSuffix.size()),
                         entry->path());
    }
  }
  if (error) return ErrnoStatus(error.value(), "listing", folder.string());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

bool FileExists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

StatusOr<int64_t> ReadGraphCount(const fs::path& path) {
  HG_ASSIGN_OR_RETURN(const auto rows, ReadTextTable(path, kGraphsRead));
  if (rows.size() > 1) return SeveralGraphs(path);
  int64_t count = 0;
  if (rows.empty() || rows[0].size() != 1 || !ParseInteger(rows[0][0], &count) || count < 0) {
    return InvalidArgument("{}:1: expected one count", path.string());
  }
  return count;
}

StatusOr<std::vector<std::pair<std::string, std::string>>> ReadHeaderAndRow(const fs::path& path) {
  HG_ASSIGN_OR_RETURN(const auto rows, ReadTextTable(path, kGraphsRead));
  if (rows.size() > 2) return SeveralGraphs(path);
  if (rows.size() < 2 || rows[0].size() != rows[1].size()) {
    return InvalidArgument("{}: expected a header line of types and one line with as many cells",
                           path.string());
  }
  std::vector<std::pair<std::string, std::string>> columns;
  for (size_t i = 0; i < rows[0].size(); ++i) columns.emplace_back(rows[0][i], rows[1][i]);
  return columns;
}

StatusOr<std::vector<std::string>> ReadTrueColumns(const fs::path& path) {
  HG_ASSIGN_OR_RETURN(const auto columns, ReadHeaderAndRow(path));
  std::vector<std::string> names;
  for (const auto& [name, cell] : columns) {
    if (cell == "True") {
      names.push_back(name);
    } else if (cell != "False") {
      return InvalidArgument("{}:2: `{}` under `{}` is neither True nor False", path.string(), cell,
                             name);
    }
  }
  return names;
}

StatusOr<std::vector<InputTensor>> ReadOgbFeatures(const fs::path& folder, const std::string& kind,
                                                   int64_t rows, const std::string& what,
                                                   Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(auto tables, FindTables(folder, kind + "_"));
  const fs::path feat = folder / (kind + "-feat.csv.gz");
  if (FileExists(feat)) tables.emplace_back("feat", feat);
  // ogbn-proteins names this one without its prefix.
  const fs::path species = folder / "species.csv.gz";
  if (kind == "node" && FileExists(species)) tables.emplace_back("species", species);
  std::vector<InputTensor> features;
  for (const auto& [name, path] : tables) {
    HG_ASSIGN_OR_RETURN(InputTensor tensor, ConvertMatrix(path, name, scratch));
    HG_RETURN_IF_ERROR(CheckRows(tensor, rows, what));
    for (const InputTensor& other : features) {
      if (other.spec.name == name) {
        return InvalidArgument("{} and {} would both be feature `{}`: rename one", other.path,
                               path.string(), name);
      }
    }
    features.push_back(std::move(tensor));
  }
  return features;
}

Status ReadOgbRelation(const fs::path& folder, const Dataset& dataset, Scratch* scratch,
                       InputRelation* relation) {
  const fs::path edges = folder / "edge.csv.gz";
  if (!FileExists(edges)) {
    return NotFound("{}: the edge list is missing: fetch the whole dataset again", edges.string());
  }
  const fs::path count_file = folder / "num-edge-list.csv.gz";
  HG_ASSIGN_OR_RETURN(const int64_t count, ReadGraphCount(count_file));
  HG_ASSIGN_OR_RETURN(relation->edges,
                      ConvertEdgeTable(edges, EndsOf(dataset, *relation), scratch));
  if (relation->edges->max_edges() != count) {
    return InvalidArgument("{}: {} edges, but {} says {}", edges.string(),
                           relation->edges->max_edges(), count_file.string(), count);
  }
  HG_ASSIGN_OR_RETURN(
      relation->features,
      ReadOgbFeatures(folder, "edge", count, fmt::format("edges of type `{}`", relation->triple()),
                      scratch));
  return OkStatus();
}

}  // namespace halograph
