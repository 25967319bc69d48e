#include "partitioner/readers/edge_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/log.h"
#include "partitioner/readers/edge_array.h"
#include "partitioner/readers/edge_columns.h"
#include "partitioner/readers/format_clues.h"
#include "partitioner/readers/id_set.h"
#include "partitioner/readers/line_reader.h"
#include "partitioner/readers/numbered_nodes.h"
#include "partitioner/readers/row_writer.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = size_t{1} << 17;  // int64 values renumbered at a time

// Takes one integer with the separators before it off the front of `line`.
bool TakeInteger(std::string_view* line, int64_t* value) {
  while (!line->empty() && IsColumnSeparator(line->front())) line->remove_prefix(1);
  const char* end = line->data() + line->size();
  const auto [stop, error] = std::from_chars(line->data(), end, *value);
  if (error != std::errc() || (stop != end && !IsColumnSeparator(*stop))) return false;
  line->remove_prefix(stop - line->data());
  return true;
}

// What tells whether lines of whole numbers are edges: whether they have as many numbers, and
// whether the first line counts the others.
class ListLooks {
 public:
  // An edge and what stands behind it on its line.
  void Add(const LineReader& reader, int64_t source, int64_t destination, std::string_view rest) {
    int64_t columns = 2, value = 0, third = -1;
    while (TakeInteger(&rest, &value)) {
      if (++columns == 3) third = value;
    }
    if (!std::all_of(rest.begin(), rest.end(), IsColumnSeparator)) columns = kNotWhole;
    if (edges_++ == 0) {
      columns_ = columns;
      counts_ = {source, destination, third};
    } else if (columns != columns_ && columns != kNotWhole && columns_ != kNotWhole &&
               ragged_.empty()) {
      ragged_ = reader.Place();
      found_ = columns;
    }
  }

  // A line without an edge, which stands for a node in METIS graphs.
  void AddEmpty() { ++empty_; }

  // Whether the first line may give the number of lines after it: CountedFormat says more.
  [[nodiscard]] bool may_be_counted() const {
    return !ragged_.empty() || std::any_of(counts_.begin(), counts_.end(), [this](int64_t count) {
      return count >= edges_ - 1 && count <= edges_ - 1 + empty_;
    });
  }

  [[nodiscard]] Status CheckColumns() const {
    if (ragged_.empty()) return OkStatus();
    return InvalidArgument(
        "{}: {} whole numbers, but the first line has {}: this looks like an adjacency list; write "
        "one edge a line, `source destination`, or take the first two numbers of each line with "
        "--format edgelist",
        ragged_, found_, columns_);
  }

 private:
  static constexpr int64_t kNotWhole = -1;  // a line with something else than whole numbers

  int64_t edges_ = 0;
  int64_t empty_ = 0;
  int64_t columns_ = 0;                           // of the first line
  std::array<int64_t, 3> counts_ = {-1, -1, -1};  // its first numbers
  std::string ragged_;  // place of the first line of other columns; empty: none
  int64_t found_ = 0;   // columns there
};

class EdgeListReader {
 public:
  EdgeListReader(fs::path path, const EdgeListOptions& options, Scratch* scratch)
      : path_(std::move(path)),
        options_(options),
        num_nodes_(options.num_nodes),
        scratch_(scratch) {}

  StatusOr<Dataset> Read() {
    Dataset dataset;
    dataset.format = "edgelist";
    dataset.name = FileTitle(path_);
    InputNodeType& node_type = dataset.node_types.emplace_back();
    node_type.name = kHomogeneousNode;
    HG_ASSIGN_OR_RETURN(EdgeColumns columns, EdgeColumns::Open(options_.columns, scratch_));
    HG_ASSIGN_OR_RETURN(fs::path edges, ConvertText(&columns));
    if (num_nodes_ >= 0) {
      node_type.count = num_nodes_;
    } else {
      ids_.Seal();
      if (ids_.empty()) {
        return InvalidArgument("{}: holds no edge; for a graph without edges give --num-nodes",
                               path_.string());
      }
      node_type.count = ids_.size();
      if (!ids_.IsRange()) {
        HG_ASSIGN_OR_RETURN(edges, Renumber(edges));
        HG_ASSIGN_OR_RETURN(node_type.original_ids, WriteOriginalIds());
      }
    }
    InputRelation& relation = dataset.relations.emplace_back();
    relation.source = relation.destination = kHomogeneousNode;
    relation.name = kHomogeneousEdge;
    HG_ASSIGN_OR_RETURN(relation.edges, OpenEdgeArray(edges, EdgeArrayForm::kPairs,
                                                      EndsOf(dataset, relation), scratch_));
    HG_ASSIGN_OR_RETURN(relation.features, columns.Finish(path_));
    return dataset;
  }

 private:
  // Writes the edges with the ids of the file; collects the ids unless their range is given.
  StatusOr<fs::path> ConvertText(EdgeColumns* columns) {
    HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path_, "reading"));
    HG_ASSIGN_OR_RETURN(const fs::path output, scratch_->NewFile("edges"));
    HG_RETURN_IF_ERROR(edges_.Open(output, 2));
    std::string_view line;
    while (true) {
      HG_ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
      if (!more) break;
      if (reader.line() <= options_.skip_lines) continue;
      if (reader.line() == options_.skip_lines + 1 && IsMatrixMarketBanner(line)) {
        return InvalidArgument(
            "{}: the banner of a MatrixMarket file, which is no edge list: give --format "
            "matrixmarket or none",
            reader.Place());
      }
      if (IsBlankOrComment(line)) {
        if (!line.starts_with('%')) looks_.AddEmpty();
        continue;
      }
      HG_RETURN_IF_ERROR(TakeEdge(reader, line, columns));
      HG_RETURN_IF_ERROR(edges_.FlushIfFull());
    }
    HG_RETURN_IF_ERROR(edges_.Close());
    if (options_.guessed) HG_RETURN_IF_ERROR(CheckLooks());
    WarnOfDroppedColumns(*columns);
    return output;
  }

  [[nodiscard]] Status CheckLooks() const {
    if (looks_.may_be_counted()) {
      HG_ASSIGN_OR_RETURN(const std::optional<std::string> format,
                          CountedFormat(path_, options_.skip_lines));
      if (format) {
        return InvalidArgument("{}: {}; if it is an edge list all the same, give --format edgelist",
                               path_.string(), *format);
      }
    }
    return options_.columns.empty() ? looks_.CheckColumns() : OkStatus();
  }

  void WarnOfDroppedColumns(const EdgeColumns& columns) const {
    if (columns.first_dropped().empty()) return;
    spdlog::warn(
        "{}: columns after column {} are dropped; to keep them as edge features, name them with "
        "--edge-columns",
        columns.first_dropped(), 2 + options_.columns.size());
  }

  Status TakeEdge(const LineReader& reader, std::string_view line, EdgeColumns* columns) {
    std::string_view rest = line;
    int64_t source = 0, destination = 0;
    std::string_view behind_source;
    if (!TakeInteger(&rest, &source) || (behind_source = rest, !TakeInteger(&rest, &destination))) {
      return InvalidArgument("{}: expected two integers, found `{}`{}", reader.Place(),
                             Excerpt(line), WhyNoEdge(path_, reader.line(), first_edge_));
    }
    first_edge_ = false;
    if (source < 0 || destination < 0) {
      return InvalidArgument("{}: negative node id in `{}`", reader.Place(), Excerpt(line));
    }
    if (num_nodes_ >= 0) {
      if (source >= num_nodes_ || destination >= num_nodes_) {
        const EdgeEnds ends{kHomogeneousNode, kHomogeneousNode, num_nodes_, num_nodes_};
        return CheckEdge(ends, source, destination, reader.Place());
      }
    } else {
      ids_.Insert(source);
      ids_.Insert(destination);
    }
    edges_.block()->push_back(source);
    edges_.block()->push_back(destination);
    if (options_.guessed) looks_.Add(reader, source, destination, rest);
    const std::string_view between =
        behind_source.substr(0, behind_source.find_first_not_of(" \t,"));
    return columns->Take(reader, rest, between.find(',') == std::string_view::npos);
  }

  // Rewrites the edges with the rank of each id.
  StatusOr<fs::path> Renumber(const fs::path& given) {
    HG_ASSIGN_OR_RETURN(const NpyArray array, NpyArray::Open(given));
    HG_ASSIGN_OR_RETURN(const std::span<const int64_t> ids, array.As<int64_t>());
    HG_ASSIGN_OR_RETURN(const fs::path output, scratch_->NewFile("edges"));
    HG_ASSIGN_OR_RETURN(NpyWriter writer,
                        NpyWriter::Create(output, DType::kInt64, array.rows(), 2, 2));
    Progress progress("numbering nodes", array.rows());
    std::vector<int64_t> block;
    for (size_t begin = 0; begin < ids.size(); begin += block.size()) {
      block.resize(std::min(kBlock, ids.size() - begin));
      for (size_t i = 0; i < block.size(); ++i) block[i] = ids_.Rank(ids[begin + i]);
      HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(block))));
      progress.Advance(static_cast<int64_t>(block.size() / 2));
    }
    HG_RETURN_IF_ERROR(writer.Close());
    std::error_code ignored;
    fs::remove(given, ignored);  // the mapping keeps it readable until here
    return output;
  }

  StatusOr<std::shared_ptr<const NpyArray>> WriteOriginalIds() {
    HG_ASSIGN_OR_RETURN(const fs::path output, scratch_->NewFile("original-ids"));
    HG_ASSIGN_OR_RETURN(NpyWriter writer,
                        NpyWriter::Create(output, DType::kInt64, ids_.size(), 1, 1));
    std::vector<int64_t> block;
    Status status;
    ids_.ForEach([&](int64_t id) {
      block.push_back(id);
      if (block.size() < kBlock) return true;
      status = writer.Append(std::as_bytes(std::span(block)));
      block.clear();
      return status.ok();
    });
    HG_RETURN_IF_ERROR(status);
    HG_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(block))));
    HG_RETURN_IF_ERROR(writer.Close());
    HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(output));
    return std::shared_ptr<const NpyArray>(std::make_shared<NpyArray>(std::move(array)));
  }

  const fs::path path_;
  const EdgeListOptions& options_;
  const int64_t num_nodes_;
  Scratch* const scratch_;
  IdSet ids_;
  RowWriter<int64_t> edges_;
  bool first_edge_ = true;  // none was taken yet
  ListLooks looks_;
};

}  // namespace

StatusOr<Dataset> ReadEdgeList(const fs::path& path, const EdgeListOptions& options,
                               Scratch* scratch) {
  return EdgeListReader(path, options, scratch).Read();
}

}  // namespace halograph
