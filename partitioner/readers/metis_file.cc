#include "partitioner/readers/metis_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "common/base/log.h"
#include "partitioner/readers/edge_array.h"
#include "partitioner/readers/format_clues.h"
#include "partitioner/readers/input_tensor.h"
#include "partitioner/readers/line_reader.h"
#include "partitioner/readers/numbered_nodes.h"
#include "partitioner/readers/row_writer.h"
#include "partitioner/readers/symmetry_check.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr char kWeightFeature[] = "weight";
constexpr int64_t kMostEdges = int64_t{1} << 60;  // both ends of them can be counted
constexpr int64_t kMostNodeWeights = int64_t{1} << 20;

struct MetisHeader {
  int64_t nodes = 0, edges = 0;
  bool node_sizes = false, edge_weights = false;
  int64_t node_weights = 0;  // of each node

  // Numbers of a line before its entries.
  [[nodiscard]] int64_t before_entries() const { return node_weights + (node_sizes ? 1 : 0); }
};

bool IsBlankChar(char c) { return c == ' ' || c == '\t'; }

bool IsComment(std::string_view line) { return line.starts_with('%'); }

std::string_view WithoutBlanks(std::string_view line) {
  while (!line.empty() && IsBlankChar(line.front())) line.remove_prefix(1);
  return line;
}

std::string_view WordOf(std::string_view line) { return line.substr(0, line.find_first_of(" \t")); }

// Takes the next number off the front of `line`; false if there is none.
bool TakeNumber(std::string_view* line, int64_t* value) {
  const std::string_view rest = WithoutBlanks(*line);
  const char* const end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data(), end, *value);
  if (error != std::errc() || (stop != end && !IsBlankChar(*stop))) return false;
  *line = WithoutBlanks(rest.substr(static_cast<size_t>(stop - rest.data())));
  return true;
}

// Up to three digits of 0 and 1: sizes of nodes, their weights, weights of edges.
bool ParseFormat(std::string_view digits, MetisHeader* header) {
  if (digits.empty() || digits.size() > 3) return false;
  if (digits.find_first_not_of("01") != std::string_view::npos) return false;
  const std::string form = std::string(3 - digits.size(), '0') + std::string(digits);
  header->node_sizes = form[0] == '1';
  header->node_weights = form[1] == '1' ? 1 : 0;
  header->edge_weights = form[2] == '1';
  return true;
}

// `nodes edges [fmt [ncon]]`.
StatusOr<MetisHeader> ParseHeader(const LineReader& reader, std::string_view line) {
  MetisHeader header;
  const auto refused = [&](std::string_view why) {
    return InvalidArgument(
        "{}: expected the first line of a METIS graph, `nodes edges [fmt [ncon]]`; found `{}`{}",
        reader.Place(), Excerpt(line), why);
  };
  std::string_view rest = line;
  if (!TakeNumber(&rest, &header.nodes) || !TakeNumber(&rest, &header.edges) || header.nodes < 0 ||
      header.edges < 0 || header.edges > kMostEdges) {
    return refused(WhyNoEdge(reader.path(), reader.line(), true));
  }
  const std::vector<std::string_view> more = CellsOf(rest);
  if (more.empty()) return header;
  if (!ParseFormat(more[0], &header)) {
    return refused(
        "; fmt has up to three digits of 0 and 1: sizes of nodes, weights of nodes, "
        "weights of edges");
  }
  if (more.size() == 1) return header;
  int64_t weights = 0;
  std::string_view cell = more[1];
  if (more.size() > 2 || !TakeNumber(&cell, &weights) || weights < 0 ||
      weights > kMostNodeWeights) {
    return refused("");
  }
  if (header.node_weights == 0 && weights > 0) {
    return refused("; ncon counts weights of nodes, but fmt says that there are none");
  }
  if (weights > 0) header.node_weights = weights;
  return header;
}

class MetisFileReader {
 public:
  MetisFileReader(fs::path path, LineReader reader, Scratch* scratch)
      : path_(std::move(path)), reader_(std::move(reader)), scratch_(scratch) {}

  StatusOr<Dataset> Read() {
    HG_ASSIGN_OR_RETURN(header_, ReadHeader());
    HG_ASSIGN_OR_RETURN(Dataset dataset, NumberedNodes(path_, header_.nodes, scratch_));
    dataset.format = "metis";
    WarnOfSkipped();
    HG_ASSIGN_OR_RETURN(const fs::path edges, scratch_->NewFile("edges"));
    HG_RETURN_IF_ERROR(edges_.Open(edges, 2));
    HG_ASSIGN_OR_RETURN(const fs::path weights, scratch_->NewFile(kWeightFeature));
    if (header_.edge_weights) HG_RETURN_IF_ERROR(weights_.Open(weights, 1));
    HG_RETURN_IF_ERROR(ReadNodes());
    HG_RETURN_IF_ERROR(edges_.Close());
    if (header_.edge_weights) HG_RETURN_IF_ERROR(weights_.Close());
    HG_RETURN_IF_ERROR(CheckSymmetric(edges, weights));
    HG_RETURN_IF_ERROR(CheckEdgeCount());
    InputRelation& relation = dataset.relations.front();
    HG_ASSIGN_OR_RETURN(relation.edges, OpenEdgeArray(edges, EdgeArrayForm::kPairs,
                                                      EndsOf(dataset, relation), scratch_));
    if (!header_.edge_weights) return dataset;
    HG_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(weights));
    relation.features.push_back(MakeTensor(kWeightFeature, path_, std::move(array)));
    return dataset;
  }

 private:
  StatusOr<MetisHeader> ReadHeader() {
    std::string_view line;
    while (true) {
      HG_ASSIGN_OR_RETURN(const bool more, reader_.Next(&line));
      if (!more) return ParseHeader(reader_, "");
      if (reader_.line() == 1 && IsMatrixMarketBanner(line)) {
        return InvalidArgument(
            "{}: the banner of a MatrixMarket file: give --format matrixmarket or none",
            reader_.Place());
      }
      if (!IsComment(line) && !WithoutBlanks(line).empty()) return ParseHeader(reader_, line);
    }
  }

  void WarnOfSkipped() const {
    if (header_.before_entries() == 0) return;
    std::vector<std::string> skipped;
    if (header_.node_sizes) skipped.emplace_back("sizes of nodes");
    if (header_.node_weights > 0) {
      skipped.push_back(fmt::format("weights of nodes ({} each)", header_.node_weights));
    }
    spdlog::warn("{}: skipped: {}; nodes are balanced as --balance says", path_.string(),
                 fmt::join(skipped, " and "));
  }

  Status ReadNodes() {
    std::string_view line;
    int64_t node = 0;
    while (true) {
      HG_ASSIGN_OR_RETURN(const bool more, reader_.Next(&line));
      if (!more) break;
      if (IsComment(line)) continue;
      if (node < header_.nodes) {
        HG_RETURN_IF_ERROR(TakeNode(++node, line));
      } else if (!WithoutBlanks(line).empty()) {
        return InvalidArgument("{}: `{}` follows the lines of the {} nodes of the first line",
                               reader_.Place(), Excerpt(line), header_.nodes);
      }
    }
    if (node == header_.nodes) return OkStatus();
    return InvalidArgument(
        "{}: the file ends after {} nodes, but its first line says {}: it was cut off, or lines of "
        "nodes without edges are missing, which are empty",
        reader_.Place(), node, header_.nodes);
  }

  Status TakeNode(int64_t node, std::string_view line) {
    std::string_view rest = WithoutBlanks(line);
    for (int64_t i = 0; i < header_.before_entries(); ++i) {
      int64_t skipped = 0;
      if (TakeNumber(&rest, &skipped)) continue;
      return InvalidArgument(
          "{}: expected {} whole numbers before the entries of node {}, as fmt and ncon say; found "
          "`{}`",
          reader_.Place(), header_.before_entries(), node, Excerpt(line));
    }
    for (int64_t entry = 1; !rest.empty(); ++entry) {
      HG_RETURN_IF_ERROR(TakeEntry(node, entry, &rest));
    }
    HG_RETURN_IF_ERROR(edges_.FlushIfFull());
    return header_.edge_weights ? weights_.FlushIfFull() : OkStatus();
  }

  Status TakeEntry(int64_t node, int64_t entry, std::string_view* rest) {
    const std::string_view found = WordOf(*rest);
    int64_t neighbour = 0, weight = 0;
    if (!TakeNumber(rest, &neighbour)) {
      return InvalidArgument("{}: entry {} is `{}`, expected the number of a node", reader_.Place(),
                             entry, Excerpt(found));
    }
    if (neighbour < 1 || neighbour > header_.nodes) {
      return OutOfRange("{}: entry {} is {}, which is not within the {} nodes, 1 to {}",
                        reader_.Place(), entry, neighbour, header_.nodes, header_.nodes);
    }
    const std::string_view given = WordOf(*rest);
    if (header_.edge_weights && (!TakeNumber(rest, &weight) || weight < 1)) {
      return InvalidArgument(
          "{}: entry {}: the weight of the edge to node {} is {}, expected a whole number of at "
          "least 1, as fmt says",
          reader_.Place(), entry, neighbour,
          given.empty() ? "missing" : fmt::format("`{}`", Excerpt(given)));
    }
    if (header_.edge_weights) weights_.block()->push_back(weight);
    const std::array<int64_t, 2> edge = {neighbour - 1, node - 1};
    edges_.block()->insert(edges_.block()->end(), edge.begin(), edge.end());
    symmetry_.Add(edge[0], edge[1], weight);
    loops_ += neighbour == node ? 1 : 0;
    ++entries_;
    return OkStatus();
  }

  Status CheckSymmetric(const fs::path& edges, const fs::path& weights) {
    if (symmetry_.symmetric()) return OkStatus();
    HG_ASSIGN_OR_RETURN(const NpyArray pair_array, NpyArray::Open(edges));
    HG_ASSIGN_OR_RETURN(const std::span<const int64_t> pairs, pair_array.As<int64_t>());
    NpyArray weight_array;
    std::span<const int64_t> given;
    if (header_.edge_weights) {
      HG_ASSIGN_OR_RETURN(weight_array, NpyArray::Open(weights));
      HG_ASSIGN_OR_RETURN(given, weight_array.As<int64_t>());
    }
    const SymmetryCheck::Odd odd = symmetry_.FindOdd(pairs, given);
    const auto at = static_cast<size_t>(odd.edge);
    const int64_t neighbour = pairs[2 * at], node = pairs[2 * at + 1];
    int64_t entry = 1;
    for (size_t i = at; i > 0 && pairs[2 * i - 1] == node; --i) ++entry;
    HG_ASSIGN_OR_RETURN(const int64_t line, LineOf(node));
    HG_ASSIGN_OR_RETURN(const int64_t other_line, LineOf(neighbour));
    const std::string place = fmt::format("{}:{}: entry {}: node {} lists node {}", path_.string(),
                                          line, entry, node + 1, neighbour + 1);
    if (odd.other_weight) {
      return InvalidArgument(
          "{} with weight {}, but node {} lists it with weight {} (line {}): both ends of an edge "
          "give the same weight",
          place, given[at], neighbour + 1, *odd.other_weight, other_line);
    }
    return InvalidArgument(
        "{}, but node {} does not list node {} (line {}): a METIS graph lists each edge at both "
        "ends; write a graph of one-way edges as an edge list, `source destination` a line",
        place, neighbour + 1, node + 1, other_line);
  }

  // The line of a node, from 0, for messages.
  StatusOr<int64_t> LineOf(int64_t node) const {
    HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path_, "looking at"));
    std::string_view line;
    for (int64_t seen = -1; seen <= node;) {
      HG_ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
      if (!more) break;
      if (IsComment(line) || (seen < 0 && WithoutBlanks(line).empty())) continue;
      ++seen;
    }
    return reader.line();
  }

  [[nodiscard]] Status CheckEdgeCount() const {
    const bool once = entries_ + loops_ == 2 * header_.edges;
    if (once || entries_ == 2 * header_.edges) return OkStatus();
    return InvalidArgument(
        "{}: the first line says {} edges, but the lines list {} (each at both ends)",
        path_.string(), header_.edges, (entries_ + loops_) / 2);
  }

  const fs::path path_;
  LineReader reader_;
  Scratch* const scratch_;
  MetisHeader header_;
  SymmetryCheck symmetry_;
  int64_t entries_ = 0, loops_ = 0;
  RowWriter<int64_t> edges_;
  RowWriter<int64_t> weights_;
};

}  // namespace

StatusOr<Dataset> ReadMetisFile(const fs::path& path, Scratch* scratch) {
  HG_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path, "reading"));
  return MetisFileReader(path, std::move(reader), scratch).Read();
}

}  // namespace halograph
