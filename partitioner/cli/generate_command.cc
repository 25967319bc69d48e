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

void AddTargetRows(OptionTable& rows, GenerateTarget* target) {
  rows.Group("Output");
  rows.Add("output", &target->folder, "folder to write, in GraphBolt's layout").Required();
  rows.Add("force", &target->replace, "replace an existing output");
}

void AddShareRows(OptionTable& rows, SetShares* shares) {
  rows.Add("train", &shares->train, "share of nodes in the training set").Range(0, 1);
  rows.Add("valid", &shares->valid, "share of nodes in the validation set").Range(0, 1);
  rows.Add("test", &shares->test, "share of nodes in the test set").Range(0, 1);
}

void AddSeedRow(OptionTable& rows, uint64_t* seed) {
  rows.Add("seed", seed, "random seed: the same seed gives the same graph");
}

void AddEdgesRow(OptionTable& rows, int64_t* edges, double average_degree) {
  rows.Add("edges", edges,
           "approximate number of directed edges; each is listed in both directions")
      .AtLeast(0)
      .DefaultText(fmt::format("{} per node", average_degree));
}

// `edges` as --edges has it: negative if it was not given.
void SetAverageDegree(int64_t edges, int64_t nodes, double* average_degree) {
  if (edges < 0 || nodes <= 0) return;
  *average_degree = static_cast<double>(edges) / static_cast<double>(nodes);
}

void AddRmat(Command& generate) {
  auto rmat = std::make_shared<RmatCommand>();
  RmatOptions& options = rmat->options;
  Command& command =
      generate.Add("rmat", "A recursive-matrix (R-MAT) graph: skewed degrees at any size.");
  OptionTable& rows = command.options();
  AddTargetRows(rows, &rmat->target);
  rows.Group("Graph");
  rows.Add("log2-nodes", &options.log2_nodes, "2^N nodes").Range(0, 31);
  rows.Add("edges", &options.edges, "number of edges to draw").Range(0, int64_t{1} << 40);
  rows.Add("a", &options.a, "probability of the upper left quadrant").Range(0, 1);
  rows.Add("b", &options.b, "probability of the upper right quadrant").Range(0, 1);
  rows.Add("c", &options.c, "probability of the lower left quadrant").Range(0, 1);
  rows.Add("d", &options.d, "probability of the lower right quadrant").Range(0, 1);
  rows.Add("undirected", &options.undirected, "list each edge in both directions");
  rows.Add("dedup", &options.dedup, "drop self-loops and parallel edges");
  rows.Add("keep-ids", &rmat->keep_ids,
           "give high degrees to low ids (otherwise ids are shuffled)");
  rows.Add("features", &options.feature_dim, "random features per node").AtLeast(0);
  rows.Add("classes", &options.classes, "number of classes of random labels; 0: no labels")
      .AtLeast(0);
  AddShareRows(rows, &options.shares);
  AddSeedRow(rows, &options.seed);
  command.Check([rmat] {
    rmat->options.permute_ids = !rmat->keep_ids;
    return rmat->options.Validate();
  });
  command.Run([rmat] { return GenerateRmat(rmat->options, rmat->target); });
}

void AddSbm(Command& generate) {
  auto sbm = std::make_shared<SbmCommand>();
  SbmOptions& options = sbm->options;
  Command& command =
      generate.Add("sbm", "A planted partition with features and labels that can be learned.");
  OptionTable& rows = command.options();
  AddTargetRows(rows, &sbm->target);
  rows.Group("Graph");
  rows.Add("nodes", &options.nodes, "number of nodes").AtLeast(1);
  AddEdgesRow(rows, &sbm->edges, options.average_degree);
  rows.Add("classes", &options.classes, "number of communities, which are the labels").AtLeast(1);
  rows.Add("homophily", &options.homophily, "share of edges within a community").Range(0, 1);
  rows.Add("features", &options.feature_dim, "features per node").AtLeast(0);
  rows.Add("noise", &options.noise, "noise of the features").AtLeast(0);
  AddShareRows(rows, &options.shares);
  AddSeedRow(rows, &options.seed);
  command.Check([sbm] {
    SetAverageDegree(sbm->edges, sbm->options.nodes, &sbm->options.average_degree);
    return sbm->options.Validate();
  });
  command.Run([sbm] { return GenerateSbm(sbm->options, sbm->target); });
}

void AddHierarchical(Command& generate) {
  auto graph = std::make_shared<HierarchicalCommand>();
  HierarchicalOptions& options = graph->options;
  Command& command = generate.Add("hierarchical", "Blocks within blocks, and hubs of high degree.");
  OptionTable& rows = command.options();
  AddTargetRows(rows, &graph->target);
  rows.Group("Graph");
  rows.Add("nodes", &options.nodes, "number of nodes").AtLeast(1);
  AddEdgesRow(rows, &graph->edges, options.average_degree);
  rows.Add("blocks", &options.blocks,
           "number of blocks of each level within one of the level above, outermost first")
      .AtLeast(1);
  rows.Add("shares", &options.shares,
           "share of edges within a block of each level; the rest goes anywhere")
      .Range(0, 1);
  rows.Add("hubs", &options.hubs, "share of nodes that are hubs").Range(0, 1);
  rows.Add("hub-edges", &options.hub_edges, "share of edges that start at a hub").Range(0, 1);
  rows.Add("no-labels", &graph->no_labels,
           "no labels and no task (otherwise a node's label is its outermost block)");
  rows.Add("features", &options.feature_dim, "features per node").AtLeast(0);
  rows.Add("noise", &options.noise, "noise of the features").AtLeast(0);
  AddShareRows(rows, &options.set_shares);
  AddSeedRow(rows, &options.seed);
  command.Check([graph] {
    HierarchicalOptions& chosen = graph->options;
    chosen.labels = !graph->no_labels;
    SetAverageDegree(graph->edges, chosen.nodes, &chosen.average_degree);
    return chosen.Validate();
  });
  command.Run([graph] { return GenerateHierarchical(graph->options, graph->target); });
}

}  // namespace

void AddGenerateCommand(Command& program) {
  Command& generate = program.Add("generate", "Generates a graph for trying things out.");
  AddRmat(generate);
  AddSbm(generate);
  AddHierarchical(generate);
}

}  // namespace halograph
