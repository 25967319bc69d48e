#include "partitioner/cli/input_options.h"

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

}  // namespace halograph
