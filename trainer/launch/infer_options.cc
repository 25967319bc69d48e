#include "trainer/launch/infer_options.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/program/config_file.h"
#include "trainer/checkpoint/files/checkpoint_folder.h"
#include "trainer/launch/command_line.h"
#include "trainer/models/registry.h"
#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

// Names of the options that only this model has.
std::vector<std::string> ModelRowNames(const std::string& model) {
  const auto kind = FindModelKind(model);
  std::vector<std::string> names;
  if (!kind.ok()) return names;
  const auto options = (*kind)->options();
  OptionTable rows;
  options->AddRows(rows);
  for (const auto& row : rows.rows()) names.push_back(row->name());
  return names;
}

// A value as its option is written.
std::string Shown(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> words;
  for (const Json& one : value) words.push_back(Shown(one));
  return fmt::format("{}", fmt::join(words, ","));
}

std::string ShownOrDefault(const Json& value) {
  const std::string text = value.is_null() ? "" : Shown(value);
  return text.empty() ? "its default" : text;
}

// The command that the words name.
TrainCommand CommandAmong(std::span<const char* const> words) {
  if (words.empty()) return TrainCommand::kTrain;
  const std::string_view first = words.front();
  return first == "infer"      ? TrainCommand::kInfer
         : first == "evaluate" ? TrainCommand::kEvaluate
                               : TrainCommand::kTrain;
}

// What a command leaves aside of a file of options, which may be that of the run.
OptionMarks LeftAsideBy(TrainCommand command) {
  switch (command) {
    case TrainCommand::kTrain:
      break;
    case TrainCommand::kInfer:
      return kOfTraining | kOfOutput;
    case TrainCommand::kEvaluate:
      return kOfTraining | kOfOutput | kOfPredictions;
  }
  return 0;
}

// What stands in for an option of training.
constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
    {"batch-size", "eval-batch-size"},
    {"fanouts", "eval-fanouts"},
    {"predict-nodes", "nodes"},
};
// What says how neighbours are drawn, and of how many nodes at once. (Of --eval-fanouts exact
// inference reads which relations are left out.)
constexpr std::string_view kOfSampling[] = {"eval-batch-size", "replace", "sampling-weights"};

// What the command line says of training.
Status CheckNotOfTraining(std::span<const char* const> words, const OptionTable& rows,
                          TrainCommand command) {
  const std::string_view name = command == TrainCommand::kInfer ? "infer" : "evaluate";
  for (const auto& row : rows.rows()) {
    if (!IsAmong(words, row->name())) continue;
    if (command == TrainCommand::kEvaluate && row->marked(kOfPredictions)) {
      return InvalidArgument("{}: evaluate predicts nothing; leave it out, or see infer",
                             row->Flag());
    }
    if (!row->marked(kOfTraining)) continue;
    for (const auto& [option, instead] : kInstead) {
      if (option != row->name()) continue;
      return InvalidArgument("--{} is for training; {} has --{}", option, name, instead);
    }
    return InvalidArgument("{} is for training: {} does not train, leave the option out",
                           row->Flag(), name);
  }
  return OkStatus();
}

// Which options of the command's own and of sampling the way of inference has no use for.
Status CheckWay(std::span<const char* const> words, const InferOptions& infer,
                TrainCommand command) {
  if (infer.exact) {
    for (const std::string_view option : kOfSampling) {
      if (!IsAmong(words, option)) continue;
      return InvalidArgument(
          "--exact and --{}: nothing is sampled, all neighbours are read; leave one of them out",
          option);
    }
    return OkStatus();
  }
  if (command == TrainCommand::kInfer) return OkStatus();  // predictions have their share of both
  for (const std::string_view option : {"memory", "scratch"}) {
    if (!IsAmong(words, option)) continue;
    return InvalidArgument("--{} is for --exact: give that too, or leave the option out", option);
  }
  return OkStatus();
}

// Of both commands.
void AddWeightRows(OptionTable& rows, InferOptions* infer) {
  rows.Group("Checkpoint");
  rows.Add("checkpoint", &infer->checkpoint,
           "folder of checkpoints, of which the newest whole one is taken, or one of them. Model, "
           "task and features are as it says")
      .Required()
      .ValueName("FOLDER");
  rows.AddChoice("weights", &infer->last_weights, {{"best", false}, {"last", true}},
                 "those of the best epoch, or of the checkpoint's moment");
  rows.AddChoice("new-rows", &infer->new_rows, {{"refuse", false}, {"init", true}},
                 "nodes that the run learnt no row of, on a graph that has grown: refuse them, or "
                 "give them rows as training begins with");
  rows.Group("Inference");
  rows.Add("exact", &infer->exact,
           "all neighbours, layer by layer over the whole graph; else --eval-fanouts are drawn");
  rows.AddBytes("memory", &infer->memory,
                "memory for what --exact reads and keeps, and for predictions until they are "
                "written; what is more goes to --scratch")
      .AtLeast(int64_t{1} << 16);
  rows.Add("scratch", &infer->scratch, "folder for rows that --memory does not hold")
      .ValueName("FOLDER")
      .DefaultText("that of --predict, else the current one");
}

// Of the newest checkpoint whose manifest can be read, whatever its other files are: who reads the
// weights verifies those.
StatusOr<CheckpointManifest> NewestManifest(const std::filesystem::path& checkpoint) {
  std::error_code ignored;
  if (std::filesystem::exists(checkpoint / kManifestFile, ignored)) {
    return ReadCheckpointManifest(checkpoint);
  }
  HG_ASSIGN_OR_RETURN(const auto found, ListCheckpoints(checkpoint));
  for (auto entry = found.rbegin(); entry != found.rend(); ++entry) {
    auto manifest = ReadCheckpointManifest(entry->second);
    if (manifest.ok() || !IsDamage(manifest.status())) return manifest;
  }
  // It says why there is none.
  HG_ASSIGN_OR_RETURN(const StoredCheckpoint whole,
                      ReadNewestCheckpoint(checkpoint, {}, OnDamaged::kPassOver));
  return whole.manifest;
}

// What one command has to say of the options.
Status CheckInfer(const TrainOptions& options, const InferOptions& infer, TrainCommand command) {
  if (infer.exact && options.all_ranks() > 1) {
    return InvalidArgument(
        "--exact is for one process, not for --world-size {}: rows between layers are not "
        "exchanged. Start one process, or leave --exact out",
        options.all_ranks());
  }
  if (infer.exact && !options.edge_weight.empty()) {
    return InvalidArgument(
        "--exact and --edge-weight {}: exact inference weighs no edges. Leave --exact out; "
        "--eval-fanouts -1 in each layer reads all neighbours, too",
        options.edge_weight);
  }
  if (command == TrainCommand::kEvaluate || !options.predict.empty()) return OkStatus();
  return InvalidArgument("--predict is missing: the file that infer writes, .npy or .csv");
}

}  // namespace

StatusOr<TrainedAs> ReadTrainedAs(const std::string& checkpoint) {
  HG_ASSIGN_OR_RETURN(const CheckpointManifest manifest, NewestManifest(checkpoint));
  const RunIdentity& run = manifest.run;
  return TrainedAs{.model = run.model,
                   .task = run.task,
                   .options = run.options,
                   .feature_scales = manifest.feature_scales,
                   .trained_on = manifest.trained_on,
                   .graph = run.graph};
}

Status ApplyTrainedAs(const TrainedAs& trained, OptionTable& rows, TrainOptions* options) {
  options->task = trained.task;
  // Options of another model, of which CheckTrainedAs says that it is the wrong one, have no row.
  Json taken = Json::object();
  for (const auto& row : rows.rows()) {
    if (!row->all_ranks() || row->marked(kNotInherited) || row->given()) continue;
    const auto value = trained.options.find(row->Key());
    if (value != trained.options.end()) taken[row->Key()] = *value;
  }
  const auto apply = [&]() -> Status {
    HG_ASSIGN_OR_RETURN(YamlValue map, YamlValue::Parse(CanonicalJson(taken), kManifestFile));
    HG_ASSIGN_OR_RETURN(const ConfigFile file, ConfigFile::Of(std::move(map)));
    return file.ApplyWritten(rows, {});
  };
  const Status applied = apply();
  if (applied.ok()) return applied;
  return DataLoss("the checkpoint's options: {}", Message(applied));
}

Status CheckTrainedAs(const TrainedAs& trained, const OptionTable& rows,
                      const TrainOptions& options) {
  std::vector<std::string> wrong;
  const auto compare = [&](std::string_view name, const std::string& found,
                           const std::string& wanted) {
    if (found != wanted) wrong.push_back(fmt::format("--{} is {}, not {}", name, found, wanted));
  };
  compare("model", options.model, trained.model);
  compare("task", options.task, trained.task);
  const std::vector<std::string> of_model = ModelRowNames(trained.model);
  Json was = DefaultFacts(trained.model);
  was.update(trained.options);
  for (const auto& row : rows.rows()) {
    const bool models = options.model == trained.model &&
                        std::find(of_model.begin(), of_model.end(), row->name()) != of_model.end();
    if (!models && !row->marked(kPartOfModel)) continue;
    const auto value = was.find(row->Key());
    if (value == was.end() || row->ToJson() == *value) continue;
    compare(row->name(), ShownOrDefault(row->ToJson()), ShownOrDefault(*value));
  }
  if (wrong.empty()) return OkStatus();
  return InvalidArgument("the checkpoint is of another model: {}; leave {} out",
                         fmt::join(wrong, ", "),
                         wrong.size() == 1 ? "the option" : "these options");
}

void AddTrainCommands(Program& program, TrainOptions* options, InferOptions* infer,
                      Environment environment, std::function<Status(TrainCommand)> run) {
  // The words; whether they name a checkpoint, and what became of it.
  struct Checkpoint {
    std::span<const char* const> words;
    Status status;
    std::optional<TrainedAs> trained;
  };
  const auto checkpoint = std::make_shared<Checkpoint>();
  OptionTable& rows = program.options();
  program.command().BeforeReading([options, checkpoint](std::span<const char* const> words) {
    checkpoint->words = words;
    if (CommandAmong(words) == TrainCommand::kTrain) return OkStatus();
    const auto path = ValueAmong(words, "checkpoint");
    if (!path.has_value() || path->empty()) return OkStatus();
    auto trained = ReadTrainedAs(*path);
    checkpoint->status = trained.status();
    if (!trained.ok()) return OkStatus();  // said when all words are read
    checkpoint->trained = *std::move(trained);
    options->model = checkpoint->trained->model;
    return OkStatus();
  });
  // Before the options are checked as those of a run, which would say other things of them.
  program.Check([options, checkpoint, &rows]() -> Status {
    if (!checkpoint->trained.has_value()) return OkStatus();
    return CheckTrainedAs(*checkpoint->trained, rows, *options);
  });
  AddTrainOptions(program, options, std::move(environment), [](std::span<const char* const> words) {
    return LeftAsideBy(CommandAmong(words));
  });
  program.command().BeforeReading(
      [options, checkpoint, &rows](std::span<const char* const> words) -> Status {
        const TrainCommand command = CommandAmong(words);
        if (command != TrainCommand::kTrain) {
          HG_RETURN_IF_ERROR(CheckNotOfTraining(words, rows, command));
        }
        if (!checkpoint->trained.has_value()) return OkStatus();
        return ApplyTrainedAs(*checkpoint->trained, rows, options);
      });
  program.Run([run] { return run(TrainCommand::kTrain); });

  const auto add = [&](const char* name, const char* about, TrainCommand kind) -> Command& {
    Command& command = program.command().Add(name, about);
    AddWeightRows(command.options(), infer);
    command.Check([=]() -> Status {
      HG_RETURN_IF_ERROR(CheckWay(checkpoint->words, *infer, kind));
      return CheckInfer(*options, *infer, kind);
    });
    command.Run([checkpoint, run, kind]() -> Status {
      HG_RETURN_IF_ERROR(checkpoint->status);
      return run(kind);
    });
    return command;
  };
  Command& inference = add("infer",
                           "Predicts nodes with the weights of a checkpoint. Takes the options of "
                           "halograph-train too: --graph or --servers, --predict FILE, ...",
                           TrainCommand::kInfer);
  inference.options()
      .Add("node-type", &infer->node_type, "node type whose nodes are predicted")
      .ValueName("TYPE")
      .DefaultText("all that the task predicts, a file each");
  inference.options()
      .Add("nodes", &infer->nodes,
           "all of the node type, test, or a file of original ids: .npy, or one a line")
      .ValueName("WHICH");
  Command& evaluation = add("evaluate",
                            "Measures the weights of a checkpoint on the validation and test sets. "
                            "Takes the options of halograph-train too: --graph or --servers, ...",
                            TrainCommand::kEvaluate);
  evaluation.PrintsItsWork();
  evaluation.options().Add("json", &infer->json, "print JSON in the place of the table");
}

}  // namespace halograph
