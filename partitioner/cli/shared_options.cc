#include "partitioner/cli/shared_options.h"

#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "common/base/units.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {

namespace {

EdgePolicy PolicyOf(const std::string& word) {
  return word == "drop" ? EdgePolicy::kDrop : EdgePolicy::kKeep;
}

}  // namespace

ReadOptions InputOptions::Read() const {
  ReadOptions options = read;
  options.self_loops = PolicyOf(self_loops);
  options.duplicates = PolicyOf(duplicates);
  return options;
}

CLI::Option* AddInputOptions(CLI::App* command, InputOptions* options) {
  ReadOptions& read = options->read;
  CLI::Option* input =
      command->add_option("--input", options->input, "Folder or file of the graph");
  command->add_option("--format", read.format, "auto, graphbolt, ogb or edgelist")
      ->check(CLI::IsMember({"auto", "graphbolt", "ogb", "edgelist"}))
      ->capture_default_str();
  command->add_flag("--undirected", read.undirected, "Add the reverse of every edge");
  command->add_option("--self-loops", options->self_loops, "keep or drop")
      ->check(CLI::IsMember({"keep", "drop"}))
      ->capture_default_str();
  command->add_option("--duplicates", options->duplicates, "keep or drop parallel edges")
      ->check(CLI::IsMember({"keep", "drop"}))
      ->capture_default_str();
  command
      ->add_option("--num-nodes", read.num_nodes,
                   "Edge lists: ids are 0 .. N-1 (default: the distinct ids that occur)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--task", read.task, "OGB: name of the split folder, if there are several");
  return input;
}

namespace {

constexpr double kNone = std::numeric_limits<double>::max();

std::string CheckBalance(const std::string& list) {
  const auto parsed = BalanceOptions::Parse(list);
  return parsed.ok() ? std::string() : Message(parsed.status());
}

std::string CheckPositive(const std::string& text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value) && value > 0 && value < kNone
             ? std::string()
             : "expected a number above 0, got " + text;
}

void AddEdgeFlags(CLI::App* command, MethodFlags* flags) {
  EdgePartitionOptions& edge = flags->options.edge;
  flags->of_methods.push_back(
      command
          ->add_option("--owner", flags->owner,
                       "Edge partitioners: which replica of a node owns it: random (as CATGNN), or "
                       "majority (the one with most of its edges)")
          ->check(CLI::IsMember(
              std::vector<std::string>(kOwnerRuleWords.begin(), kOwnerRuleWords.end())))
          ->capture_default_str());
  flags->of_methods.push_back(
      command->add_option("--hdrf-lambda", edge.hdrf_lambda, "hdrf: weight of balance in its score")
          ->check(CheckPositive)
          ->capture_default_str());
  flags->of_methods.push_back(command
                                  ->add_option("--volume-factor", edge.volume_factor,
                                               "spring, 2ps-l: maximum volume of a cluster, as a "
                                               "multiple of an even share of the edges")
                                  ->check(CheckPositive)
                                  ->capture_default_str());
  flags->of_methods.push_back(
      command
          ->add_option(
              "--edge-imbalance", edge.edge_imbalance,
              "Edge partitioners: maximum edges of a partition, as a multiple of an even share")
          ->check(CLI::Range(1.0, kNone))
          ->capture_default_str());
}

void AddStreamMetisFlags(CLI::App* command, MethodFlags* flags) {
  StreamMetisOptions& stream = flags->options.stream_metis;
  flags->of_methods.push_back(command
                                  ->add_option("--clusters", stream.clusters,
                                               "stream-metis: approximate number of clusters of "
                                               "its coarse graph (0: chosen from nodes and memory)")
                                  ->check(CLI::NonNegativeNumber)
                                  ->capture_default_str());
  flags->of_methods.push_back(command
                                  ->add_option("--refinement-rounds", stream.refinement_rounds,
                                               "stream-metis: number of refinement passes, 0 to 16")
                                  ->check(CLI::Range(0, 16))
                                  ->capture_default_str());
}

}  // namespace

MethodOptions MethodFlags::Options() const {
  MethodOptions result = options;
  // All words were checked when they were parsed.
  if (!balance.empty()) result.balance = BalanceOptions::Parse(balance).value();
  result.memory = memory.empty() ? AvailableMemory() : ParseBytes(memory).value();
  result.edge.owner = OwnerRuleOf(owner).value();
  result.order = NodeOrderOf(order).value();
  return result;
}

void AddMethodFlags(CLI::App* command, MethodFlags* flags) {
  command
      ->add_option("--balance", flags->balance,
                   "What to balance, of nodes,edges,train,valid,test (default: all)")
      ->check(CheckBalance);
  command
      ->add_option("--memory", flags->memory,
                   "Memory limit of the whole run, such as 8GiB (default: most of what is free)")
      ->check(CheckBytes);
  command
      ->add_option("--seed", flags->options.seed,
                   "Random seed: the same seed gives the same partitioning")
      ->capture_default_str();
  AddEdgeFlags(command, flags);
  AddStreamMetisFlags(command, flags);
}

void AddOrderFlag(CLI::App* command, MethodFlags* flags) {
  command
      ->add_option("--order", flags->order,
                   "How the nodes of a partition are numbered: input (as in the input), or cluster "
                   "(nodes of a cluster together; lp-metis and stream-metis find clusters)")
      ->check(
          CLI::IsMember(std::vector<std::string>(kNodeOrderWords.begin(), kNodeOrderWords.end())))
      ->capture_default_str();
}

void RequireOptionsTaken(const MethodFlags& flags, const std::vector<std::string>& methods) {
  for (const CLI::Option* option : flags.of_methods) {
    if (option->count() == 0) continue;
    const std::string name = option->get_lnames().front();
    const Status taken = CheckOptionTaken(name, methods);
    if (!taken.ok()) throw CLI::ValidationError(Message(taken));
  }
}

std::string CheckBytes(const std::string& text) {
  const auto parsed = ParseBytes(text);
  return parsed.ok() ? std::string() : Message(parsed.status());
}

std::string CheckMethodName(const std::string& name) {
  const auto method = MakeMethod(name);
  return method.ok() ? std::string() : Message(method.status());
}

StatusOr<TemporaryFolder> ReportOptions::MakeScratch(std::string_view name) const {
  if (scratch.empty()) {
    const char* variable = std::getenv("TMPDIR");
    return FailedPrecondition(
        "the folder for temporary files, `{}` (from TMPDIR), does not exist: create it, or give "
        "another with --scratch",
        variable == nullptr ? "" : variable);
  }
  return TemporaryFolder::Create(scratch / fmt::format("halograph-{}", name));
}

void AddReportOptions(CLI::App* command, const std::string& scratch_help, ReportOptions* options) {
  AddMethodFlags(command, &options->flags);
  command->add_flag("--json", options->json, "JSON instead of a table");
  std::error_code missing;  // reported where the folder is needed
  options->scratch = std::filesystem::temp_directory_path(missing);
  command->add_option("--scratch", options->scratch, scratch_help)->capture_default_str();
}

}  // namespace halograph
