#include "partitioner/methods/lp_metis/disk_csr.h"

#include <algorithm>
#include <limits>
#include <span>

#include "common/base/progress.h"
#include "common/base/units.h"
#include "partitioner/methods/metis/neighbour_lists.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

// One bit of an entry is the direction.
constexpr int64_t kMaxNodes = (int64_t{1} << 31) - 1;
constexpr int64_t kMaxWeight = 255;
constexpr char kGathering[] = "gathering neighbours";

// Nodes whose lists are sorted between two progress reports.
constexpr int64_t kProgressNodes = 65536;

}  // namespace

class DiskCsrBuilder {
 public:
  DiskCsrBuilder(const Dataset& dataset, const DiskCsr::Options& options)
      : dataset_(dataset),
        options_(options),
        nodes_(UnionNodes(dataset).count()),
        fold_(options.drop_duplicates && dataset.relations.size() == 1) {}

  StatusOr<DiskCsr> Build() {
    if (nodes_ > kMaxNodes) {
      return ResourceExhausted(
          "lp-metis: {} nodes are more than its 31-bit ids hold ({}); use --method stream-metis",
          FormatCount(nodes_), FormatCount(kMaxNodes));
    }
    csr_.offsets_.assign(static_cast<size_t>(nodes_) + 1, 0);
    csr_.in_degrees_.assign(static_cast<size_t>(nodes_), 0);
    HG_ASSIGN_OR_RETURN(const EntryCounts counts,
                        CountEntries(dataset_, "counting neighbours", csr_.in_degrees_,
                                     std::span(csr_.offsets_).subspan(1)));
    csr_.directed_edges_ = counts.edges;
    arcs_ = counts.entries;
    HG_ASSIGN_OR_RETURN(csr_.neighbours_, MappedArray<uint32_t>::Create(options_.scratch, arcs_,
                                                                        "the lists of neighbours"));
    HG_ASSIGN_OR_RETURN(csr_.weights_,
                        MappedArray<uint8_t>::Create(options_.scratch, arcs_, "weights of edges"));
    ChooseWindows();
    HG_RETURN_IF_ERROR(windows_.size() <= 2 ? ScatterDirectly() : ScatterByWindows());
    return std::move(csr_);
  }

 private:
  // offsets()[v + 1]: the start of node v's list before merging, which moves to its end while the
  // list is filled.
  int64_t* next() { return csr_.offsets_.data() + 1; }

  // Ranges of nodes with window_arcs entries each, or one node.
  void ChooseWindows() {
    windows_ = {0};
    for (int64_t v = 0; v < nodes_; ++v) {
      const int64_t end = v + 1 < nodes_ ? next()[v + 1] : arcs_;
      if (end - next()[windows_.back()] > options_.window_arcs && v > windows_.back()) {
        windows_.push_back(v);
      }
    }
    windows_.push_back(nodes_);
  }

  Status ScatterDirectly() {
    HG_RETURN_IF_ERROR(Repeat([this](const UnionEdges& edges) {
      return ScatterEntries(edges, arcs_, next(), csr_.neighbours_.data());
    }));
    HG_RETURN_IF_ERROR(MergeLists(0, nodes_));
    return Finish();
  }

  // The second pass: take(edges) is false where the edges are not those of the first.
  template <typename Take>
  Status Repeat(Take take) {
    return RepeatUnionEdges(
        dataset_, kGathering, csr_.directed_edges_,
        [&](const UnionEdges& edges) { return take(edges) ? OkStatus() : OtherEdges(kGathering); });
  }

  // Deals entries to their windows first, each window's one after the other on disk.
  Status ScatterByWindows() {
    HG_ASSIGN_OR_RETURN(const auto dealt, MappedArray<uint64_t>::Create(options_.scratch, arcs_,
                                                                        "entries by window"));
    HG_RETURN_IF_ERROR(DealToWindows(dealt.data()));
    for (size_t w = 0; w + 1 < windows_.size(); ++w) {
      const int64_t begin = next()[windows_[w]];
      const int64_t end = w + 2 < windows_.size() ? next()[windows_[w + 1]] : arcs_;
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t record = dealt.data()[i];
        const int64_t place = next()[record >> 32]++;
        if (place >= arcs_) return OtherEdges(kGathering);
        csr_.neighbours_.data()[place] = static_cast<uint32_t>(record);
      }
      dealt.Release(begin, end);
      HG_RETURN_IF_ERROR(MergeLists(windows_[w], windows_[w + 1]));
    }
    return Finish();
  }

  Status DealToWindows(uint64_t* dealt) {
    std::vector<int64_t> place, end;
    for (size_t w = 0; w + 1 < windows_.size(); ++w) {
      place.push_back(next()[windows_[w]]);
      if (w > 0) end.push_back(place.back());
    }
    end.push_back(arcs_);
    bool fits = true;
    const auto deal = [&](int64_t node, uint32_t entry) {
      const auto window = static_cast<size_t>(
          std::upper_bound(windows_.begin(), windows_.end(), node) - windows_.begin() - 1);
      fits = fits && place[window] < end[window];
      if (fits) dealt[place[window]++] = static_cast<uint64_t>(node) << 32 | entry;
    };
    HG_RETURN_IF_ERROR(Repeat([&](const UnionEdges& edges) {
      for (size_t i = 0; i < edges.sources.size(); ++i) {
        const int64_t u = edges.sources[i];
        const int64_t v = edges.destinations[i];
        if (u == v) continue;
        deal(u, NeighbourEntry(v, false));
        deal(v, NeighbourEntry(u, true));
      }
      return fits;
    }));
    return place == end ? OkStatus() : OtherEdges(kGathering);
  }

  // Sorts the lists of these nodes and writes their runs behind those of all nodes before, which
  // is never beyond what they come from.
  Status MergeLists(int64_t begin_node, int64_t end_node) {
    uint32_t* entries = csr_.neighbours_.data();
    uint8_t* weights = csr_.weights_.data();
    Progress progress("sorting neighbours", end_node - begin_node);
    for (int64_t v = begin_node; v < end_node; ++v) {
      uint32_t* first = entries + list_begin_;
      uint32_t* last = entries + next()[v];
      if (last < first) return OtherEdges(kGathering);
      list_begin_ = next()[v];
      std::sort(first, last);
      if (fold_) {
        const int32_t repeated = RepeatedInEdges(first, last);
        csr_.in_degrees_[static_cast<size_t>(v)] -= repeated;
        repeated_ += repeated;
      }
      ForEachRun(first, last, fold_, [&](uint32_t neighbour, int64_t weight) {
        least_weight_ = std::min(least_weight_, weight);
        most_weight_ = std::max(most_weight_, weight);
        weights[merged_] = static_cast<uint8_t>(std::min(weight, kMaxWeight));
        entries[merged_++] = neighbour;
      });
      next()[v] = merged_;
      if (v % kProgressNodes == kProgressNodes - 1) progress.Advance(kProgressNodes);
    }
    return OkStatus();
  }

  Status Finish() {
    if (list_begin_ != arcs_) return OtherEdges(kGathering);
    if (least_weight_ >= most_weight_) csr_.weights_ = MappedArray<uint8_t>();
    csr_.directed_edges_ -= repeated_;
    return OkStatus();
  }

  const Dataset& dataset_;
  const DiskCsr::Options& options_;
  const int64_t nodes_;
  const bool fold_;
  int64_t arcs_ = 0;  // before merging
  std::vector<int64_t> windows_;
  // Of merging, which goes through all lists in order.
  int64_t list_begin_ = 0;
  int64_t merged_ = 0;
  int64_t repeated_ = 0;
  int64_t least_weight_ = std::numeric_limits<int64_t>::max();
  int64_t most_weight_ = 0;
  DiskCsr csr_;
};

int64_t DiskCsr::ScratchBytes(int64_t edges) {
  constexpr int64_t kEntry = sizeof(uint32_t) + sizeof(uint8_t);
  constexpr int64_t kDealt = sizeof(uint64_t);
  const int64_t entries = 2 * edges;
  return entries * (entries > kWindowArcs ? kEntry + kDealt : kEntry);
}

StatusOr<DiskCsr> DiskCsr::Build(const Dataset& dataset, const Options& options) {
  return DiskCsrBuilder(dataset, options).Build();
}

}  // namespace halograph
