#include "trainer/embeddings/rows/rows_of_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>

#include "client/original_ids.h"
#include "common/graph/manifest.h"
#include "common/graph/owner_split.h"
#include "common/state/initial_values.h"
#include "trainer/embeddings/rows/row_names.h"

namespace halograph {
namespace {

constexpr size_t kMostNamed = 5;  // nodes in a message

// The run's state: what was learnt on its graph, by global ids of that.
struct RunState {
  RowNames names;
  std::unique_ptr<Env> env;  // outlives the stores
  std::map<int, std::unique_ptr<StateStore>> parts;

  [[nodiscard]] std::map<int, StateStats> Stats() const {
    std::map<int, StateStats> stats;
    for (const auto& [part, store] : parts) stats.emplace(part, store->stats());
    return stats;
  }
};

StatusOr<std::unique_ptr<RunState>> OpenRunState(const StateOptions& options,
                                                 std::unique_ptr<Env> env,
                                                 const std::string& identity) {
  auto state = std::make_unique<RunState>();
  HG_ASSIGN_OR_RETURN(state->names, RowNames::Read(options.folder));
  state->env = std::move(env);
  const RowNames& names = state->names;
  if (names.identity() != identity) {
    return FailedPrecondition(
        "{}: has rows that were learnt on graph {}, and the weights were trained on {}: give the "
        "state folder of their run",
        options.folder.string(), names.identity(), identity);
  }
  const int parts = names.book().num_parts();
  HG_RETURN_IF_ERROR(CheckPartsAreThere(options.folder, parts));
  for (int part = 0; part < parts; ++part) {
    StateOptions of_part = options;
    of_part.folder = options.folder / PartFolderName(part);
    of_part.memory_bytes = options.memory_bytes / parts;
    const StateGraph graph{
        .identity = names.identity(),
        .part = part,
        .schema = &names.schema(),
        .book = &names.book(),
        .original_ids = [&names, part](bool edge, int type) -> StatusOr<std::span<const int64_t>> {
          if (edge)
            return FailedPrecondition("it has rows of edges, whose original ids it has not");
          HG_ASSIGN_OR_RETURN(const std::span<const int64_t> all, names.OriginalIds(type));
          const IdRange own = names.book().NodeRange(type, part);
          return all.subspan(static_cast<size_t>(own.begin), static_cast<size_t>(own.size()));
        }};
    HG_ASSIGN_OR_RETURN(state->parts[part], StateStore::Open(of_part, graph, *state->env));
  }
  return state;
}

// One tensor, for the nodes of the other graph.
struct GivenTensor {
  MutableTensorSpec spec;
  int type = 0;                 // index in the run's schema
  std::vector<int64_t> row_of;  // by node: the run's global id, or ~ an index of `fresh`
  std::vector<int64_t> fresh;   // original ids of nodes without a row
  std::optional<InitialValues> initial = {};  // of their rows

  [[nodiscard]] size_t row_bytes() const { return RowBytes(spec.dtype, spec.dim); }
};

// Rows of the run's tensors, and behind them all rows of the other graph.
class GivenRows final : public RowStore {
 public:
  GivenRows(std::shared_ptr<RowStore> behind, std::shared_ptr<const RunState> run,
            std::vector<GivenTensor> tensors)
      : behind_(std::move(behind)), run_(std::move(run)), tensors_(std::move(tensors)) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    return StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
      StartPull(requests, inner, std::move(done));
    });
  }

  void StartPull(std::span<const RowRequest> requests, CallContext& context,
                 StatusDone done) override {
    const auto shares = std::make_shared<Shares>();
    if (Status split = Split(requests, shares.get()); !split.ok()) {
      return EndCall(std::move(done), std::move(split));
    }
    behind_->StartPull(shares->others, context,
                       [this, shares, &context, done = std::move(done)](Status pulled) mutable {
                         if (pulled.ok()) {
                           pulled = RunCaught([&] { return PullOwn(*shares, context); });
                         }
                         EndCall(std::move(done), std::move(pulled));
                       });
  }

  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& /*context*/) override {
    return RefusePushes(pushes);
  }

  std::optional<RowsInPlace> InPlace(const TensorRef& tensor) const override {
    return Find(tensor) == nullptr ? behind_->InPlace(tensor) : std::nullopt;
  }

  [[nodiscard]] const RunState& run() const { return *run_; }
  [[nodiscard]] const GivenTensor* Find(const TensorRef& ref) const {
    const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                    [&](const GivenTensor& one) { return one.spec.ref == ref; });
    return found == tensors_.end() ? nullptr : &*found;
  }

 private:
  struct Shares {
    std::vector<RowRequest> others;
    std::vector<std::pair<const GivenTensor*, RowRequest>> own;
  };
  Status Split(std::span<const RowRequest> requests, Shares* shares) const {
    for (const RowRequest& request : requests) {
      const GivenTensor* const tensor = Find(request.tensor);
      if (tensor == nullptr) {
        shares->others.push_back(request);
        continue;
      }
      HG_RETURN_IF_ERROR(CheckRows(request, std::ssize(tensor->row_of), tensor->row_bytes()));
      shares->own.emplace_back(tensor, request);
    }
    return OkStatus();
  }
  Status PullOwn(const Shares& shares, CallContext& context) const {
    for (const auto& [tensor, request] : shares.own)
      HG_RETURN_IF_ERROR(PullOwn(*tensor, request, context));
    return OkStatus();
  }
  Status PullOwn(const GivenTensor& tensor, const RowRequest& request, CallContext& context) const {
    struct Share {
      std::vector<int64_t> ids, positions;
    };
    std::map<int, Share> shares;
    for (size_t i = 0; i < request.ids.size(); ++i) {
      const int64_t row = tensor.row_of[static_cast<size_t>(request.ids[i])];
      const int64_t place =
          request.positions.empty() ? static_cast<int64_t>(i) : request.positions[i];
      if (row < 0) {
        auto* const values = request.out.data() + static_cast<size_t>(place) * tensor.row_bytes();
        tensor.initial->Fill(tensor.fresh[static_cast<size_t>(~row)],
                             reinterpret_cast<float*>(values));
        continue;
      }
      Share& share = shares[run_->names.book().NodeOwner(tensor.type, row)];
      share.ids.push_back(row);
      share.positions.push_back(place);
    }
    for (const auto& [part, share] : shares) {
      HG_RETURN_IF_ERROR(run_->parts.at(part)->Pull(tensor.spec.ref, share.ids, share.positions, 0,
                                                    request.out.data(), context.limits(),
                                                    &tensor.spec));
    }
    context.stats.local_bytes += static_cast<int64_t>(request.ids.size() * tensor.row_bytes());
    context.Pulled(request.tensor, PulledFrom::kLocal, request.ids.size(), tensor.row_bytes());
    return OkStatus();
  }

  const std::shared_ptr<RowStore> behind_;
  const std::shared_ptr<const RunState> run_;
  const std::vector<GivenTensor> tensors_;
};

// Lists the tensors; nothing can be changed, since the rows are of another graph.
class GivenTensors final : public TensorAdmin {
 public:
  explicit GivenTensors(std::shared_ptr<const GivenRows> rows) : rows_(std::move(rows)) {}

  Status Create(const MutableTensorSpec& spec, CallContext& /*context*/) override {
    const GivenTensor* const there = rows_->Find(spec.ref);
    return there == nullptr ? Refused("a new tensor") : there->spec.SameAs(spec);
  }
  StatusOr<std::vector<MutableTensorState>> List(CallContext& /*context*/) override {
    HG_ASSIGN_OR_RETURN(auto all, MergeTensors(rows_->run().Stats()));
    std::erase_if(all, [&](const auto& one) { return rows_->Find(one.spec.ref) == nullptr; });
    return all;
  }
  Status Drop(const TensorRef& ref, CallContext& /*context*/) override {
    return Refused(ref.ToString());
  }
  Status Snapshot(const std::string& name, std::optional<int64_t> /*step*/,
                  CallContext& /*context*/) override {
    return Refused(name);
  }
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(
      CallContext& /*context*/) override {
    return Refused("the list of snapshots");
  }
  StatusOr<std::map<int, SnapshotInfo>> DescribeSnapshot(const std::string& name,
                                                         CallContext& /*context*/) override {
    return Refused(name);
  }
  StatusOr<int64_t> ReadSnapshot(const std::string& name, const MutableTensorSpec& /*spec*/,
                                 const TakeImages& /*take*/, CallContext& /*context*/) override {
    return Refused(name);
  }
  Status DeleteSnapshot(const std::string& name, CallContext& /*context*/) override {
    return Refused(name);
  }
  Status RestoreSnapshot(const std::string& name, CallContext& /*context*/) override {
    return Refused(name);
  }

 private:
  static Status Refused(std::string_view what) {
    return FailedPrecondition(
        "{}: the rows here are those of a run on another graph, and are only read: serve the run's "
        "own graph with its state folder",
        what);
  }

  const std::shared_ptr<const GivenRows> rows_;
};

// The run's global ids by original id.
class NodeIndex {
 public:
  explicit NodeIndex(std::span<const int64_t> originals) : nodes_(originals.size()) {
    for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i] = {originals[i], static_cast<int64_t>(i)};
    std::sort(nodes_.begin(), nodes_.end());
  }
  // -1: there is none.
  [[nodiscard]] int64_t Find(int64_t original) const {
    const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), std::pair(original, int64_t{0}));
    return at == nodes_.end() || at->first != original ? -1 : at->second;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> nodes_;
};

// Fills row_of and fresh.
Status FindRowsOf(const RunState& run, const Stores& stores, int type, const CancelToken* cancel,
                  GivenTensor* tensor) {
  HG_ASSIGN_OR_RETURN(const std::span<const int64_t> of_run, run.names.OriginalIds(tensor->type));
  const NodeIndex index(of_run);
  tensor->row_of.reserve(static_cast<size_t>(stores.graph->info().schema.node_types[type].count));
  const auto find = [&](std::span<const int64_t>, std::span<const int64_t> originals) {
    for (const int64_t original : originals) {
      int64_t row = index.Find(original);
      if (row < 0) {
        row = ~std::ssize(tensor->fresh);
        tensor->fresh.push_back(original);
      }
      tensor->row_of.push_back(row);
    }
    return OkStatus();
  };
  return ForEachOriginalIds(stores, type, cancel, find);
}

StatusOr<MutableTensorSpec> SpecOf(const RunState& run, const TensorRef& ref,
                                   const std::filesystem::path& folder) {
  HG_ASSIGN_OR_RETURN(const auto all, MergeTensors(run.Stats()));
  for (const MutableTensorState& state : all) {
    if (state.spec.ref != ref) continue;
    if (state.spec.dtype == DType::kFloat32 && !state.importing) return state.spec;
    return FailedPrecondition("{}: the rows of {} are not float32, or are being imported",
                              folder.string(), ref.ToString());
  }
  return NotFound("{}: has no {}: give the state folder of the run", folder.string(),
                  ref.ToString());
}

Status RefuseMissing(const std::vector<GivenTensor>& tensors, const std::filesystem::path& folder) {
  for (const GivenTensor& tensor : tensors) {
    if (tensor.fresh.empty()) continue;
    const size_t named = std::min(kMostNamed, tensor.fresh.size());
    return FailedPrecondition(
        "{} of {} nodes of type '{}' have no row in {}, since the run's graph did not have them "
        "(original ids {}{}): give --new-rows init for rows as training begins with, or train on "
        "this graph",
        tensor.fresh.size(), tensor.row_of.size(), tensor.spec.ref.type, folder.string(),
        fmt::join(tensor.fresh.begin(), tensor.fresh.begin() + static_cast<int64_t>(named), ", "),
        named < tensor.fresh.size() ? ", ..." : "");
  }
  return OkStatus();
}

}  // namespace

Status CheckPartsAreThere(const std::filesystem::path& state, int parts) {
  for (int part = 0; part < parts; ++part) {
    const std::filesystem::path folder = state / PartFolderName(part);
    std::error_code ignored;
    if (std::filesystem::is_directory(folder, ignored)) continue;
    return FailedPrecondition(
        "{}: is not there, and the run's graph has {} parts: put the part folders of all servers "
        "side by side in one folder",
        folder.string(), parts);
  }
  return OkStatus();
}

StatusOr<RowsGiven> GiveRowsOfRun(const StateOptions& state, std::unique_ptr<Env> env,
                                  const RowsWanted& wanted, const Stores& stores,
                                  const CancelToken* cancel) {
  HG_ASSIGN_OR_RETURN(std::shared_ptr<const RunState> run,
                      OpenRunState(state, std::move(env), wanted.identity));
  const Schema& schema = stores.graph->info().schema;
  std::vector<GivenTensor> tensors;
  RowsGiven given;
  for (const std::string& name : wanted.types) {
    HG_ASSIGN_OR_RETURN(const int type, schema.NodeTypeIndex(name));
    GivenTensor& tensor = tensors.emplace_back();
    HG_ASSIGN_OR_RETURN(tensor.type, run->names.schema().NodeTypeIndex(name));
    HG_ASSIGN_OR_RETURN(tensor.spec, SpecOf(*run, {false, name, wanted.tensor}, state.folder));
    HG_RETURN_IF_ERROR(FindRowsOf(*run, stores, type, cancel, &tensor));
    tensor.initial.emplace(tensor.spec, run->names.schema().node_types[tensor.type].count);
    given.fresh += std::ssize(tensor.fresh);
    given.rows += std::ssize(tensor.row_of) - std::ssize(tensor.fresh);
  }
  if (wanted.new_rows == NewRows::kRefuse) {
    HG_RETURN_IF_ERROR(RefuseMissing(tensors, state.folder));
  }
  const auto rows = std::make_shared<GivenRows>(stores.rows, std::move(run), std::move(tensors));
  given.stores = stores;
  given.stores.rows = rows;
  given.stores.admin = std::make_shared<GivenTensors>(rows);
  return given;
}

}  // namespace halograph
