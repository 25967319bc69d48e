#include "trainer/launch/infer_options.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/checkpoint/files/checkpoint_folder.h"
#include "trainer/launch/command_line.h"

namespace halograph {
namespace {

// Of how much was trained, by whom, and what it left: infer and evaluate have their own.
constexpr std::array<std::string_view, 11> kNotTaken = {
    "world-size",   "epochs", "eval-every", "average-every", "part-only",  "predict-nodes",
    "predict-what", "log",    "task",       "model",         "embed-begin"};
// What the weights mean, beside the model's own options.
constexpr std::array<std::string_view, 6> kMustAgree = {
    "layers", "features", "normalize-features", "task-kind", "embed", "embed-name"};

template <size_t N>
bool Among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// As OptionRow::Set reads it; nothing where there is no value.
std::optional<std::string> TextOf(const Json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  if (value.empty()) return std::nullopt;
  std::vector<std::string> words;
  for (const Json& one : value) words.push_back(TextOf(one).value_or(""));
  return fmt::format("{}", fmt::join(words, ","));
}

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

std::string Shown(const Json& value) {
  const auto text = TextOf(value);
  return text.has_value() && !text->empty() ? *text : "its default";
}

// The command that the words name.
TrainCommand CommandAmong(std::span<const char* const> words) {
  if (words.empty()) return TrainCommand::kTrain;
  const std::string_view first = words.front();
  return first == "infer"      ? TrainCommand::kInfer
         : first == "evaluate" ? TrainCommand::kEvaluate
                               : TrainCommand::kTrain;
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
  rows.Group("Inference");
  rows.Add("exact", &infer->exact,
           "all neighbours, layer by layer over the whole graph; else --eval-fanouts are drawn");
  rows.AddBytes("memory", &infer->memory,
                "with --exact, memory for rows and chunks; what is more goes to --scratch")
      .AtLeast(int64_t{1} << 16);
  rows.Add("scratch", &infer->scratch, "folder for rows that --memory does not hold")
      .ValueName("FOLDER")
      .DefaultText("that of --predict, else the current one");
}

// What one command has to say of the options.
Status CheckInfer(const TrainOptions& options, const OptionTable& rows, const InferOptions& infer,
                  TrainCommand command) {
  if (infer.exact && options.all_ranks() > 1) {
    return InvalidArgument(
        "--exact is for one process, not for --world-size {}: rows between layers are not "
        "exchanged. Start one process, or leave --exact out",
        options.all_ranks());
  }
  if (command == TrainCommand::kEvaluate) {
    if (options.predict.empty()) return OkStatus();
    return InvalidArgument("--predict: evaluate predicts nothing; halograph-train infer does");
  }
  if (options.predict.empty()) {
    return InvalidArgument("--predict is missing: the file that infer writes, .npy or .csv");
  }
  if (rows.given("predict-nodes")) {
    return InvalidArgument("--predict-nodes is for training; infer has --nodes");
  }
  return OkStatus();
}

}  // namespace

StatusOr<TrainedAs> ReadTrainedAs(const std::string& checkpoint) {
  HG_ASSIGN_OR_RETURN(const StoredCheckpoint stored,
                      ReadNewestCheckpoint(checkpoint, {}, OnDamaged::kPassOver));
  const RunIdentity& run = stored.manifest.run;
  return TrainedAs{run.graph, run.model, run.task, run.options};
}

Status ApplyTrainedAs(const TrainedAs& trained, OptionTable& rows, TrainOptions* options) {
  options->task = trained.task;
  for (const auto& row : rows.rows()) {
    if (!row->all_ranks() || Among(kNotTaken, row->name())) continue;
    const auto value = trained.options.find(row->Key());
    if (value == trained.options.end()) continue;
    const auto text = TextOf(*value);
    if (!text.has_value()) continue;
    Status set = row->SetDefault(*text);
    if (!set.ok() && value->is_number()) set = row->SetDefault(*text + "s");  // a duration
    if (!set.ok()) return DataLoss("the checkpoint's options: {}", Message(set));
  }
  return OkStatus();
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
  for (const auto& row : rows.rows()) {
    const bool models = options.model == trained.model &&
                        std::find(of_model.begin(), of_model.end(), row->name()) != of_model.end();
    if (!models && !Among(kMustAgree, row->name())) continue;
    const auto value = trained.options.find(row->Key());
    if (value == trained.options.end() || row->ToJson() == *value) continue;
    compare(row->name(), Shown(row->ToJson()), Shown(*value));
  }
  if (wrong.empty()) return OkStatus();
  return InvalidArgument("the checkpoint is of another model: {}; leave {} out",
                         fmt::join(wrong, ", "),
                         wrong.size() == 1 ? "the option" : "these options");
}

void AddTrainCommands(Program& program, TrainOptions* options, InferOptions* infer,
                      Environment environment, std::function<Status(TrainCommand)> run) {
  // Whether a checkpoint is named, and what became of it.
  struct Checkpoint {
    Status status;
    std::optional<TrainedAs> trained;
  };
  const auto checkpoint = std::make_shared<Checkpoint>();
  OptionTable& rows = program.options();
  program.command().BeforeReading([options, checkpoint](std::span<const char* const> words) {
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
  AddTrainOptions(program, options, std::move(environment));
  program.command().BeforeReading(
      [options, checkpoint, &rows](std::span<const char* const>) -> Status {
        if (!checkpoint->trained.has_value()) return OkStatus();
        return ApplyTrainedAs(*checkpoint->trained, rows, options);
      });
  program.Run([run] { return run(TrainCommand::kTrain); });

  const auto add = [&](const char* name, const char* about, TrainCommand kind) -> Command& {
    Command& command = program.command().Add(name, about);
    AddWeightRows(command.options(), infer);
    command.Check([=, &rows]() -> Status {
      if (checkpoint->trained.has_value()) {
        HG_RETURN_IF_ERROR(CheckTrainedAs(*checkpoint->trained, rows, *options));
      }
      return CheckInfer(*options, rows, *infer, kind);
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
      .Add("nodes", &infer->nodes,
           "all of the task's node type, test, or a file of original ids: .npy, or one a line")
      .ValueName("WHICH");
  Command& evaluation = add("evaluate",
                            "Measures the weights of a checkpoint on the validation and test sets. "
                            "Takes the options of halograph-train too: --graph or --servers, ...",
                            TrainCommand::kEvaluate);
  evaluation.options().Add("json", &infer->json, "print JSON in the place of the table");
}

}  // namespace halograph
