#include "client/ctl/state_command.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "client/ctl/status_table.h"
#include "client/ctl/tensor_files.h"
#include "client/remote/cluster.h"
#include "client/remote/remote_store.h"
#include "client/remote/state_call.h"
#include "client/remote_options.h"
#include "common/base/printable.h"
#include "common/base/units.h"

namespace halograph {

struct StateFlags {
  RemoteOptions remote;
  bool json = false;
  std::string name;   // of a snapshot
  int64_t step = -1;  // -1: none
  std::string type;   // of the tensor
  std::filesystem::path folder;
  MutableTensorSpec spec;
};

namespace {

std::vector<std::pair<std::string_view, DType>> DTypeWords() {
  return {
      {"float32", DType::kFloat32}, {"float16", DType::kFloat16}, {"bfloat16", DType::kBFloat16}};
}
std::vector<std::pair<std::string_view, Placement>> PlacementWords() {
  return {{"nodes", Placement::kNodes},
          {"edges", Placement::kEdges},
          {"range", Placement::kRange},
          {"hash", Placement::kHash}};
}
std::vector<std::pair<std::string_view, Initializer::Kind>> InitializerWords() {
  using Kind = Initializer::Kind;
  return {{"zeros", Kind::kZeros},
          {"constant", Kind::kConstant},
          {"uniform", Kind::kUniform},
          {"normal", Kind::kNormal},
          {"xavier", Kind::kXavier}};
}
std::vector<std::pair<std::string_view, RowOptimizer::Kind>> OptimizerWords() {
  using Kind = RowOptimizer::Kind;
  return {{"none", Kind::kNone},
          {"sgd", Kind::kSgd},
          {"adagrad", Kind::kAdagrad},
          {"row-adagrad", Kind::kRowAdagrad},
          {"adam", Kind::kAdam}};
}

Status List(const StateFlags& flags) {
  HG_ASSIGN_OR_RETURN(const auto cluster, Cluster::Connect(flags.remote));
  CallContext context;
  HG_ASSIGN_OR_RETURN(const auto states, ReadStates(cluster.get(), context));
  Print("{}", flags.json ? PrintableJson(ToJson(states)) : FormatStateTable(states));
  return MergeTensors(states).status();  // partitions that differ
}

Status Snapshots(const StateFlags& flags) {
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenRemoteStores(flags.remote));
  CallContext context;
  HG_ASSIGN_OR_RETURN(const auto snapshots, stores.admin->ListSnapshots(context));
  std::string table;
  Json all = Json::array();
  for (const auto& [part, kept] : snapshots) {
    for (const SnapshotInfo& info : kept) {
      table += fmt::format("{}  part {}  LSN {}  step {}  {}\n", Printable(info.name, kNameShown),
                           part, info.lsn, info.step, FormatBytes(info.bytes));
      all.push_back({{"name", info.name},
                     {"part", part},
                     {"lsn", info.lsn},
                     {"step", info.step},
                     {"bytes", info.bytes}});
    }
  }
  Print("{}", flags.json ? PrintableJson(all) : table);
  return OkStatus();
}

Status Snapshot(const StateFlags& flags) {
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenRemoteStores(flags.remote));
  CallContext context;
  std::optional<int64_t> step;
  if (flags.step >= 0) step = flags.step;
  return stores.admin->Snapshot(flags.name, step, context);
}

Status Delete(const StateFlags& flags) {
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenRemoteStores(flags.remote));
  CallContext context;
  return stores.admin->DeleteSnapshot(flags.name, context);
}

Status Restore(const StateFlags& flags) {
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenRemoteStores(flags.remote));
  CallContext context;
  return stores.admin->RestoreSnapshot(flags.name, context);
}

Status Create(StateFlags flags) {
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenRemoteStores(flags.remote));
  flags.spec.ref.type = flags.type;
  flags.spec.ref.edge = flags.spec.placement == Placement::kEdges;
  CallContext context;
  return stores.admin->Create(flags.spec, context);
}

Status Drop(const StateFlags& flags) {
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenRemoteStores(flags.remote));
  CallContext context;
  HG_ASSIGN_OR_RETURN(const MutableTensorSpec spec,
                      FindTensorSpec(stores, flags.type, flags.spec.ref.name, context));
  return stores.admin->Drop(spec.ref, context);
}

bool IsAsked(const StateFlags& flags, const TensorRef& ref) {
  return flags.spec.ref.name.empty() || (flags.spec.ref.name == ref.name && flags.type == ref.type);
}

Status ExportOfSnapshot(const StateFlags& flags) {
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenRemoteStores(flags.remote));
  CallContext context;
  HG_ASSIGN_OR_RETURN(std::vector<MutableTensorSpec> specs,
                      TensorsOfSnapshot(stores, flags.name, context));
  std::string names;
  for (const MutableTensorSpec& spec : specs) {
    names += (names.empty() ? "" : ", ") + spec.ref.ToString();
  }
  std::erase_if(specs, [&](const auto& spec) { return !IsAsked(flags, spec.ref); });
  if (specs.empty() && !flags.spec.ref.name.empty()) {
    return NotFound("snapshot '{}' has no tensor '{}' of '{}'; it has: {}", flags.name,
                    flags.spec.ref.name, flags.type, names.empty() ? "none" : names);
  }
  HG_ASSIGN_OR_RETURN(const FileCounts counts,
                      ExportSnapshot(stores, flags.name, specs, flags.folder, context));
  Print("{} tensors, {} rows in {}\n", counts.tensors, FormatCount(counts.rows),
        flags.folder.string());
  return OkStatus();
}

Status Export(const StateFlags& flags) {
  if (!flags.name.empty()) return ExportOfSnapshot(flags);
  if (flags.spec.ref.name.empty()) {
    return InvalidArgument("nothing to export: give --name of a snapshot, or --tensor, or both");
  }
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenRemoteStores(flags.remote));
  CallContext context;
  HG_ASSIGN_OR_RETURN(const MutableTensorSpec spec,
                      FindTensorSpec(stores, flags.type, flags.spec.ref.name, context));
  HG_ASSIGN_OR_RETURN(const int64_t rows, ExportTensor(stores, spec, flags.folder, context));
  Print("{} rows of {} in {}\n", FormatCount(rows), spec.ref.ToString(), flags.folder.string());
  return OkStatus();
}

Status Import(const StateFlags& flags) {
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenRemoteStores(flags.remote));
  CallContext context;
  HG_ASSIGN_OR_RETURN(const FileCounts counts, ImportTensors(stores, flags.folder, context));
  Print("{} rows of {} tensors set from {}\n", FormatCount(counts.rows), counts.tensors,
        flags.folder.string());
  if (counts.not_finite_rows > 0) {
    Print(
        "{} of these rows are not finite: they, or their optimizer's state, have infinite or NaN "
        "numbers\n",
        FormatCount(counts.not_finite_rows));
  }
  if (!counts.checked) {
    Print(
        "{} has no checksums, so that damage to its files would not be noticed: export of this "
        "version writes them\n",
        flags.folder.string());
  }
  return OkStatus();
}

class Commands {
 public:
  Commands(Command& state, std::shared_ptr<StateFlags> flags)
      : state_(state), flags_(std::move(flags)) {}

  Command& Add(const char* name, const char* about, Status (*run)(const StateFlags&)) {
    Command& command = state_.Add(name, about);
    AddServersRow(command.options(), &flags_->remote, "addresses of the servers of all partitions")
        .Required();
    command.Run([flags = flags_, run]() -> Status {
      HG_RETURN_IF_ERROR(flags->remote.OpenTls());
      return run(*flags);
    });
    return command;
  }
  // Last, so that they come last in --help.
  void AddCalls(Command& command) {
    command.options().Group("Calls");
    AddCallRows(command.options(), &flags_->remote, "how long each call may take");
  }
  void AddTensor(Command& command) {
    command.options().Add("type", &flags_->type,
                          "node type, or relation triple; none: rows of no graph object");
    command.options().Add("tensor", &flags_->spec.ref.name, "name of the tensor").Required();
  }
  void AddName(Command& command) {
    command.options()
        .Add("name", &flags_->name, "name of the snapshot: A-Z a-z 0-9 . _ -")
        .Required();
  }

 private:
  Command& state_;
  const std::shared_ptr<StateFlags> flags_;
};

void AddSpecRows(OptionTable& rows, MutableTensorSpec* spec) {
  rows.Add("dim", &spec->dim, "elements of a row").AtLeast(1);
  rows.AddChoice("dtype", &spec->dtype, DTypeWords(), "of the rows");
  rows.AddChoice("placement", &spec->placement, PlacementWords(),
                 "a row a node or edge, where that is, or rows of no graph object");
  rows.Add("rows", &spec->rows, "with --placement range and hash: how many").AtLeast(0);
  rows.Group("Beginning");
  rows.AddChoice("init", &spec->initializer.kind, InitializerWords(), "how rows begin");
  rows.Add("init-a", &spec->initializer.a, "the constant, the lower end, or the mean");
  rows.Add("init-b", &spec->initializer.b, "the upper end, or the standard deviation");
  rows.Add("seed", &spec->initializer.seed, "of what is drawn");
  rows.Group("Optimizer");
  rows.AddChoice("optimizer", &spec->optimizer.kind, OptimizerWords(),
                 "what a pushed gradient does to its row");
  rows.Add("learning-rate", &spec->optimizer.learning_rate, "of the optimizer");
  rows.Add("momentum", &spec->optimizer.momentum, "of sgd");
  rows.Add("epsilon", &spec->optimizer.epsilon, "of adagrad, row-adagrad and adam");
  rows.Add("beta1", &spec->optimizer.beta1, "of adam");
  rows.Add("beta2", &spec->optimizer.beta2, "of adam");
  rows.Add("weight-decay", &spec->optimizer.weight_decay, "added to the gradient, times the row");
}

}  // namespace

std::shared_ptr<StateFlags> AddStateCommands(Program& program) {
  auto flags = std::make_shared<StateFlags>();
  flags->remote.channels_per_server = 1;
  flags->remote.needs_topology = false;
  Command& state =
      program.command().Add("state", "Mutable tensors: what there is, snapshots, files.");
  Commands commands(state, flags);

  Command& list = commands.Add("list", "Prints what each partition has of each tensor.", &List);
  list.PrintsItsWork();
  list.options().Add("json", &flags->json, "print JSON instead of a table");
  Command& create = commands.Add(
      "create", "Creates a tensor; if it is there with the same specification, nothing changes.",
      [](const StateFlags& given) { return Create(given); });
  commands.AddTensor(create);
  AddSpecRows(create.options(), &flags->spec);
  Command& drop = commands.Add("drop", "Drops a tensor, its rows and its optimizer state.", &Drop);
  commands.AddTensor(drop);
  Command& snapshot = commands.Add(
      "snapshot", "Keeps all tensors of all partitions as they are at one moment.", &Snapshot);
  commands.AddName(snapshot);
  snapshot.options()
      .Add("step", &flags->step,
           "the moment after this step of synchronous training, for which it waits; -1: each "
           "partition's own now")
      .AtLeast(-1);
  Command& snapshots =
      commands.Add("snapshots", "Prints the snapshots of each partition.", &Snapshots);
  snapshots.PrintsItsWork();
  snapshots.options().Add("json", &flags->json, "print JSON instead of a table");
  Command& erase = commands.Add("delete", "Deletes a snapshot.", &Delete);
  commands.AddName(erase);
  Command& restore = commands.Add(
      "restore",
      "Sets all tensors to what they were at a snapshot. Every partition must have it; another "
      "number of partitions goes through export --name and import.",
      &Restore);
  commands.AddName(restore);
  Command& out = commands.Add(
      "export",
      "Writes tensors under original ids: ids.npy, rows.npy and tensor.json. With --name as they "
      "were at a snapshot, with their optimizer state, all of them or one; else the rows of one "
      "tensor as they are now.",
      &Export);
  out.options().Add("name", &flags->name, "name of the snapshot; none: as they are now");
  out.options().Add("type", &flags->type,
                    "node type, or relation triple; none: rows of no graph object");
  out.options().Add("tensor", &flags->spec.ref.name,
                    "name of the tensor; none: all of the snapshot");
  out.options().Add("output", &flags->folder, "folder to make").Required();
  Command& in = commands.Add(
      "import",
      "Sets what export wrote, in this or another partitioning of the graph; creates the tensors "
      "that are missing. Until it is done they cannot be pulled; if it was interrupted, repeat it.",
      &Import);
  in.options().Add("input", &flags->folder, "folder that export made").Required();
  for (Command* command :
       {&list, &create, &drop, &snapshot, &snapshots, &erase, &restore, &out, &in}) {
    commands.AddCalls(*command);
  }
  return flags;
}

}  // namespace halograph
