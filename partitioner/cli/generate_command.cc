#include <string>

#include <fmt/core.h>

#include "partitioner/cli/command.h"
#include "partitioner/generate/hierarchical.h"
#include "partitioner/generate/rmat.h"
#include "partitioner/generate/sbm.h"

namespace halograph {
namespace {

struct RmatCommand {
  RmatOptions options;
  GenerateTarget target;
  bool keep_ids = false;
};

struct SbmCommand {
  SbmOptions options;
  GenerateTarget target;
  int64_t edges = -1;
};

struct HierarchicalCommand {
  HierarchicalOptions options;
  GenerateTarget target;
  int64_t edges = -1;
  bool no_labels = false;
};

void AddTargetOptions(CLI::App* command, GenerateTarget* target) {
  command->add_option("--output", target->folder, "Folder to write, in GraphBolt's layout")
      ->required();
  command->add_flag("--force", target->replace, "Replace an existing output");
}

void AddShareOptions(CLI::App* command, SetShares* shares) {
  command->add_option("--train", shares->train, "Share of nodes in the training set")
      ->capture_default_str();
  command->add_option("--valid", shares->valid, "Share of nodes in the validation set")
      ->capture_default_str();
  command->add_option("--test", shares->test, "Share of nodes in the test set")
      ->capture_default_str();
}

void AddEdgesOption(CLI::App* command, int64_t* edges, double average_degree) {
  command
      ->add_option("--edges", *edges,
                   fmt::format("Approximate number of directed edges; each is listed in both "
                               "directions (default: {} per node)",
                               average_degree))
      ->check(CLI::NonNegativeNumber);
}

// `edges` as --edges has it: negative if it was not given.
void SetAverageDegree(int64_t edges, int64_t nodes, double* average_degree) {
  if (edges < 0 || nodes <= 0) return;
  *average_degree = static_cast<double>(edges) / static_cast<double>(nodes);
}

void AddRmat(CLI::App* generate, Action* action) {
  auto rmat = std::make_shared<RmatCommand>();
  RmatOptions& options = rmat->options;
  CLI::App* command = generate->add_subcommand(
      "rmat", "A recursive-matrix (R-MAT) graph: skewed degrees at any size");
  AddTargetOptions(command, &rmat->target);
  command->add_option("--log2-nodes", options.log2_nodes, "2^N nodes")->capture_default_str();
  command->add_option("--edges", options.edges, "Edges to draw")->capture_default_str();
  command->add_option("-a", options.a, "Probability of the upper left quadrant")
      ->capture_default_str();
  command->add_option("-b", options.b, "Probability of the upper right quadrant")
      ->capture_default_str();
  command->add_option("-c", options.c, "Probability of the lower left quadrant")
      ->capture_default_str();
  command->add_option("-d", options.d, "Probability of the lower right quadrant")
      ->capture_default_str();
  command->add_flag("--undirected", options.undirected, "List each edge in both directions");
  command->add_flag("--dedup", options.dedup, "Drop self-loops and parallel edges");
  command->add_flag("--keep-ids", rmat->keep_ids,
                    "Give high degrees to low ids (otherwise ids are shuffled)");
  command->add_option("--features", options.feature_dim, "Random features per node")
      ->capture_default_str();
  command
      ->add_option("--classes", options.classes,
                   "Number of classes of random labels (0: no labels)")
      ->capture_default_str();
  AddShareOptions(command, &options.shares);
  command->add_option("--seed", options.seed, "Random seed: the same seed gives the same graph")
      ->capture_default_str();
  command->callback([=] {
    *action = [=] {
      rmat->options.permute_ids = !rmat->keep_ids;
      return GenerateRmat(rmat->options, rmat->target);
    };
  });
}

void AddSbm(CLI::App* generate, Action* action) {
  auto sbm = std::make_shared<SbmCommand>();
  SbmOptions& options = sbm->options;
  CLI::App* command = generate->add_subcommand(
      "sbm", "A planted partition with features and labels that can be learned");
  AddTargetOptions(command, &sbm->target);
  command->add_option("--nodes", options.nodes, "Nodes")->capture_default_str();
  AddEdgesOption(command, &sbm->edges, options.average_degree);
  command->add_option("--classes", options.classes, "Communities, which are the labels")
      ->capture_default_str();
  command->add_option("--homophily", options.homophily, "Share of edges within a community")
      ->capture_default_str();
  command->add_option("--features", options.feature_dim, "Features per node")
      ->capture_default_str();
  command->add_option("--noise", options.noise, "Noise of the features")->capture_default_str();
  AddShareOptions(command, &options.shares);
  command->add_option("--seed", options.seed, "Random seed: the same seed gives the same graph")
      ->capture_default_str();
  command->callback([=] {
    *action = [=] {
      SbmOptions& chosen = sbm->options;
      SetAverageDegree(sbm->edges, chosen.nodes, &chosen.average_degree);
      return GenerateSbm(chosen, sbm->target);
    };
  });
}

void AddHierarchical(CLI::App* generate, Action* action) {
  auto graph = std::make_shared<HierarchicalCommand>();
  HierarchicalOptions& options = graph->options;
  CLI::App* command =
      generate->add_subcommand("hierarchical", "Blocks within blocks, and hubs of high degree");
  AddTargetOptions(command, &graph->target);
  command->add_option("--nodes", options.nodes, "Nodes")->capture_default_str();
  AddEdgesOption(command, &graph->edges, options.average_degree);
  command
      ->add_option("--blocks", options.blocks,
                   "Blocks of each level within one of the level above, outermost first")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--shares", options.shares,
                   "Share of edges within a block of each level; the rest goes anywhere")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--hubs", options.hubs, "Share of nodes that are hubs")
      ->capture_default_str();
  command->add_option("--hub-edges", options.hub_edges, "Share of edges that start at a hub")
      ->capture_default_str();
  command->add_flag("--no-labels", graph->no_labels,
                    "No labels and no task (otherwise a node's label is its outermost block)");
  command->add_option("--features", options.feature_dim, "Features per node")
      ->capture_default_str();
  command->add_option("--noise", options.noise, "Noise of the features")->capture_default_str();
  AddShareOptions(command, &options.set_shares);
  command->add_option("--seed", options.seed, "Random seed: the same seed gives the same graph")
      ->capture_default_str();
  command->callback([=] {
    *action = [=] {
      HierarchicalOptions& chosen = graph->options;
      chosen.labels = !graph->no_labels;
      SetAverageDegree(graph->edges, chosen.nodes, &chosen.average_degree);
      return GenerateHierarchical(chosen, graph->target);
    };
  });
}

}  // namespace

void AddGenerateCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("generate", "Generates a graph for trying things out");
  command->require_subcommand(1);
  AddRmat(command, action);
  AddSbm(command, action);
  AddHierarchical(command, action);
}

}  // namespace halograph
