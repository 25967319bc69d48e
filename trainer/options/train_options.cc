#include "trainer/options/train_options.h"

#include <algorithm>

#include "trainer/options/averaging_options.h"
#include "trainer/options/device_name.h"

namespace halograph {
namespace {

constexpr int64_t kMaxEpochs = 1 << 24;
// Beyond what a machine has cores threads only cost: with 1000 on two cores a start takes minutes.
constexpr int kMaxThreads = 256;

Status CheckFeatures(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) return InvalidArgument("a name is empty");
    if (std::find(names.begin(), names.begin() + static_cast<int64_t>(i), names[i]) !=
        names.begin() + static_cast<int64_t>(i)) {
      return InvalidArgument("'{}' is named twice", names[i]);
    }
  }
  return OkStatus();
}

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() > end.size() && std::string_view(text).substr(text.size() - end.size()) == end;
}

void AddGraphRows(OptionTable& rows, TrainOptions* o) {
  rows.Group("Graph");
  rows.Add("graph", &o->graph, "partition folder, mapped here (embedded mode)").ValueName("FOLDER");
  AddServersRow(
      rows, &o->remote,
      "addresses of all partition servers (partitioned, hybrid mode); several may serve the same "
      "part: the least busy is asked, and another one if it does not answer");
  AddColumnRows(rows, &o->remote);
  rows.Add(
          "topology", &o->topology,
          "with --servers: servers (they sample), or in hybrid mode local (fetched from them once) "
          "or a partition folder; write ./local for a folder of that name")
      .ValueName("WHERE")
      .DefaultText("servers");
  rows.Add("local", &o->local,
           "with --servers: partition folder; its parts are mapped, servers are asked for the rest")
      .ValueName("FOLDER");
  rows.Add("cache-dir", &o->cache_dir, "where --topology local keeps what it fetched")
      .ValueName("FOLDER")
      .DefaultText("$XDG_CACHE_HOME/halograph, else ~/.cache/halograph");
  rows.Add(
          "part-only", &o->part_only,
          "with --average-every: each rank reads the parts of its own and their halos from --graph "
          "and nothing else; neighbours beyond the halos are left out")
      .AllRanks()
      .Mark(kNotInherited | kOfTraining);
  rows.AddChoice("verify", &o->verify, VerifyLevelWords(),
                 "what is checked of folders that are mapped: headers, or also every checksum");
  rows.Add("features", &o->features,
           "features of the nodes, by name; several stand side by side. A name with a comma stands "
           "in quotes of its own: --features '\"a,b\",c'")
      .Check(CheckFeatures)
      .ValueName("NAME")
      .DefaultText("the only ones, else feat")
      .AllRanks()
      .Mark(kPartOfModel);
  rows.AddChoice("normalize-features", &o->normalization,
                 {{"none", FeatureNormalization::kNone},
                  {"row", FeatureNormalization::kRow},
                  {"standard", FeatureNormalization::kStandard}},
                 "row: each row of a feature is divided by the sum of its absolute values; "
                 "standard: each column less its mean over the training nodes, divided by its "
                 "standard deviation over them")
      .AllRanks()
      .Mark(kPartOfModel);
}

void AddRankRows(OptionTable& rows, TrainOptions* o) {
  rows.Group("Ranks");
  rows.Add("rank", &o->rank, "number of this process, from 0")
      .AtLeast(0)
      .DefaultText("RANK, or as Open MPI or Slurm say")
      .Mark(kNotRepeated);
  rows.Add("world-size", &o->world_size, "number of processes")
      .Range(1, 1 << 16)
      .DefaultText("WORLD_SIZE, or as Open MPI or Slurm say")
      .AllRanks()
      .Mark(kNotInherited | kNotRepeated);
  rows.Add("logical-ranks", &o->logical_ranks,
           "number of ranks that the processes are shared out to, a multiple of --world-size: the "
           "same number gives the same bits in any number of processes (with --threads 1)")
      .Range(0, 1 << 16)
      .DefaultText("one in each process")
      .Mark(kNotRepeated);
  rows.Add("master-addr", &o->master_addr, "host of rank 0, for two ranks and more")
      .ValueName("HOST")
      .DefaultText("MASTER_ADDR; under Slurm the first node")
      .Mark(kNotRepeated);
  rows.Add("master-port", &o->master_port, "port where rank 0 listens, for two ranks and more")
      .Range(0, 65535)
      .DefaultText("MASTER_PORT")
      .Mark(kNotRepeated);
  rows.Add("job", &o->job,
           "any words, the same on all ranks of a run: a rank that came to the port of another run "
           "by mistake ends")
      .ValueName("NAME")
      .DefaultText("TORCHELASTIC_RUN_ID, PMIX_NAMESPACE, or Slurm's job and step")
      .Mark(kNotRepeated);
  rows.Group("Calls");
  AddCallRows(rows, &o->remote, "bound on every call and collective");
  AddServerTimeoutRow(rows, &o->remote);
}

void AddModelRows(OptionTable& rows, TrainOptions* o, const ModelWords& models) {
  rows.Group("Model");
  rows.Add("model", &o->model, models.help).OneOf(models.names).AllRanks().Mark(kNotInherited);
  rows.Add("layers", &o->layers, "number of layers")
      .Range(1, 16)
      .AllRanks()
      .Mark(kPartOfModel | kOfNeighbors);
  if (o->model_options != nullptr) o->model_options->AddRows(rows);
}

OptionRow& AddFanoutsRow(OptionTable& rows, std::string name, std::vector<int32_t>* layers,
                         std::vector<RelationFanouts>* named, std::string help) {
  const auto read = [layers, named](std::string_view text) -> Status {
    HG_ASSIGN_OR_RETURN(Fanouts fanouts, ParseFanouts(text));
    *layers = std::move(fanouts.layers);
    *named = std::move(fanouts.named);
    return OkStatus();
  };
  const auto fanouts = [layers, named] { return Fanouts{*layers, *named}; };
  return rows
      .AddText(
          std::move(name), read, [fanouts] { return FanoutsText(fanouts()); }, "", std::move(help))
      .AsList([fanouts] { return FanoutsJson(fanouts()); })
      .ValueName("N");
}

void AddTaskRows(OptionTable& rows, TrainOptions* o) {
  rows.Group("Task");
  rows.Add("task", &o->task, "task to train for")
      .DefaultText("the only one")
      .AllRanks()
      .Mark(kNotInherited);
  o->tasks.node.AddRows(rows);
}

void AddSamplingRows(OptionTable& rows, TrainOptions* o) {
  rows.Group("Sampling");
  AddSamplerRows(rows, &o->sampler);
  AddFanoutsRow(rows, "fanouts", &o->fanouts, &o->relation_fanouts,
                "neighbours drawn of a node, one number a layer, from the seeds outward; -1: all. "
                "Or relation by relation, cites=10:5,writes=15:10,*=5:5, with * for all others")
      .AllRanks()
      .Mark(kOfNeighbors | kOfTraining);
  rows.Add("bulk", &o->bulk,
           "minibatches of training that are sampled together: servers are asked once for all of "
           "them; the same minibatches as one at a time")
      .Range(1, kMostInBulk)
      .Mark(kOfNeighbors | kOfTraining);
  rows.Add("replace", &o->replace,
           "draw neighbours with replacement: those of evaluation, and of --sampler neighbor")
      .AllRanks()
      .Mark(kOfNeighbors);
  rows.Add("sampling-weights", &o->sampling_weights,
           "edge feature to draw neighbours by, one of those that the graph has tables of: those "
           "of evaluation, and of --sampler neighbor")
      .DefaultText("sample uniformly")
      .AllRanks()
      .Mark(kOfNeighbors);
  rows.Add(
          "edge-weight", &o->edge_weight,
          "edge feature, one number of at least 0 an edge, that neighbours' rows are multiplied by "
          "before they are summed (edge_weight of DGL and PyG)")
      .ValueName("NAME")
      .DefaultText("1 for every edge")
      .AllRanks()
      .Mark(kPartOfModel | kOfNeighbors);
}

void AddTrainingRows(OptionTable& rows, TrainOptions* o) {
  rows.Group("Training");
  rows.Add("batch-size", &o->batch_size, "seeds of a step, of each rank")
      .Range(1, kMaxBatchSize)
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("epochs", &o->epochs, "passes over the training seeds")
      .Range(0, kMaxEpochs)
      .DefaultText(fmt::format("as many as --max-steps takes, else as make {} steps, {} to {}",
                               kDefaultSteps, kLeastEpochs, kMostEpochs))
      .AllRanks()
      .Mark(kRunLength | kNotInherited | kOfTraining);
  AddAveragingRow(rows, &o->average_every, &o->average_steps);
  rows.AddChoice("optimizer", &o->optimizer,
                 {{"adam", OptimizerKind::kAdam}, {"sgd", OptimizerKind::kSgd}}, "optimizer")
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("lr", &o->learning_rate, "learning rate")
      .Above(0)
      .AtMost(1e6)
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("weight-decay", &o->weight_decay, "L2 term of the optimizer")
      .Range(0, 1e6)
      .AllRanks()
      .Mark(kOfTraining);
  AddControlRows(rows, &o->control);
  rows.AddChoice("precision", &o->precision,
                 {{"float32", Precision::kFloat32}, {"bf16", Precision::kBf16}},
                 "bf16: rows that enter a layer are bfloat16, and so are their products where the "
                 "processor is fast at them; sums, weights and gradients stay float32")
      .AllRanks();
  rows.AddChoice("gradient-dtype", &o->gradient_dtype,
                 {{"float32", GradientDtype::kFloat32}, {"bfloat16", GradientDtype::kBfloat16}},
                 "bfloat16: half the bytes between ranks; each rank's gradients are rounded once, "
                 "added up in float32, and the sum is rounded once")
      .AllRanks()
      .Mark(kOfTraining);
  rows.Add("seed", &o->seed, "seed of everything random").AllRanks();
  rows.Add("eval-every", &o->eval_every, "epochs between evaluations; 0: only after the last")
      .Range(0, kMaxEpochs)
      .AllRanks()
      .Mark(kMayDifferOnResume | kNotInherited | kOfTraining);
  AddLimitRows(rows, &o->control);
  AddFanoutsRow(rows, "eval-fanouts", &o->eval_fanouts, &o->eval_relation_fanouts,
                "fanouts of evaluation")
      .DefaultText("as --fanouts")
      .AllRanks()
      .Mark(kOfNeighbors);
  rows.Add("eval-batch-size", &o->eval_batch_size, "seeds of a step of evaluation")
      .Range(0, kMaxBatchSize)
      .DefaultText("as --batch-size")
      .AllRanks();
}

void AddMachineRows(OptionTable& rows, TrainOptions* o) {
  rows.Group("Machine");
  rows.Add(
          "device", &o->device,
          "device that computes: cpu, cuda (the one of this rank's number on its machine), cuda:N, "
          "or auto: cuda where there is one, else cpu")
      .Check([](const std::string& name) { return ParseDeviceName(name).status(); })
      .ValueName("NAME");
  rows.AddBytes("device-cache-memory", &o->device_cache_memory,
                "memory of the device, of each rank, for the rows of features that steps read most "
                "often: they stay there, and are neither gathered nor copied")
      .Range(0, int64_t{1} << 60)
      .Mark(kNotRepeated | kOfTraining);
  rows.AddChoice("compact", &o->compact,
                 {{"host", CompactOn::kHost}, {"device", CompactOn::kDevice}},
                 "where the sources of a minibatch's last layer are numbered that servers answer: "
                 "host, or device (that of --device); the bits are the same");
  rows.Add("threads", &o->threads,
           "threads for computation; with 1 every run gives the same bits; 0: the processors "
           "that it may use, shared by the ranks of this machine")
      .Range(0, kMaxThreads);
  rows.Add("sample-threads", &o->sample_threads, "threads that prepare minibatches")
      .Range(1, kMaxThreads)
      .DefaultText("2, or 1 where the process may use one processor only");
  rows.Add("threads-per-minibatch", &o->threads_per_minibatch,
           "least number of --sample-threads for each minibatch; 0: as few as --sampler-memory "
           "allows")
      .Range(0, kMaxThreads);
  rows.Add("tune", &o->tune,
           "find out in the first steps how the processors are best shared out among computing, "
           "sampling and gathering, in the place of --threads and --sample-threads; losses then "
           "are not the same bits in every run. --log and checkpoints have the choice, and "
           "--resume keeps it")
      .AllRanks()
      .Mark(kMayDifferOnResume | kNotInherited | kOfTraining);
  rows.AddBytes("sampler-memory", &o->sampler_memory,
                "memory for the tables of all minibatches in the making, 4 bytes a node each")
      .Range(0, int64_t{1} << 60)
      .DefaultText("an eighth of the machine's, shared by its ranks");
  rows.Add(
          "prefetch", &o->prefetch,
          "largest number of steps whose rows are gathered ahead; 0: each step is prepared when it "
          "begins")
      .Range(0, 1024);
  rows.AddBytes(
          "prefetch-memory", &o->prefetch_memory,
          "memory for all steps that are prepared ahead, those included that are only sampled; "
          "one step is prepared in any case")
      .Range(0, int64_t{1} << 60)
      .DefaultText("an eighth of the machine's, shared by its ranks");
  rows.AddChoice(
          "cache", &o->cache,
          {{"look-ahead", CacheKind::kLookAhead},
           {"static", CacheKind::kStatic},
           {"off", CacheKind::kOff}},
          "with --servers: which remote rows (those of parts that are not mapped here) are kept "
          "for later steps of training. look-ahead: those that the steps sampled ahead need "
          "soonest; static: those that steps read most often; off: none. All give the same "
          "bits")
      .Mark(kNotRepeated | kOfTraining);
  rows.AddBytes("cache-memory", &o->cache_memory,
                "with --servers: memory for these rows, and for what plans them")
      .Range(0, int64_t{1} << 60)
      .DefaultText("an eighth of what is free, shared by the ranks of the machine")
      .Mark(kNotRepeated | kOfTraining);
}

void AddOutputRows(OptionTable& rows, TrainOptions* o) {
  rows.Group("Output");
  rows.Add("log", &o->log, "file of JSON lines, by rank 0: configuration, one an epoch, final")
      .ValueName("FILE")
      .Mark(kNotRepeated | kOfOutput);
  rows.Add("tensorboard", &o->tensorboard,
           "folder where rank 0 writes what the log has of every epoch, as TensorBoard reads it")
      .ValueName("FOLDER")
      .Mark(kNotRepeated | kOfTraining);
  rows.Add("trace", &o->trace,
           "file of trace events for chrome://tracing or ui.perfetto.dev: each stage of each step "
           "and each call to a server, with the ids that the servers' logs have. Of several ranks "
           "each writes its own: trace.json is trace.rank3.json of rank 3")
      .ValueName("FILE")
      .Mark(kNotRepeated | kOfTraining);
  rows.Add("predict", &o->predict, "file of predictions under original ids, .npy or .csv")
      .Check([](const std::string& path) {
        if (path.empty() || EndsWith(path, ".npy") || EndsWith(path, ".csv")) return OkStatus();
        return InvalidArgument("'{}' does not end in .npy or .csv", path);
      })
      .ValueName("FILE")
      .Mark(kMayDifferOnResume | kNotRepeated | kOfOutput | kOfPredictions);
  rows.AddChoice("predict-nodes", &o->predict_nodes,
                 {{"all", PredictNodes::kAll}, {"test", PredictNodes::kTest}},
                 "nodes to predict: all of the seeds' type, or the test set")
      .AllRanks()
      .Mark(kMayDifferOnResume | kNotInherited | kOfTraining | kOfPredictions);
  rows.AddChoice("predict-what", &o->predict_what,
                 {{"class", PredictWhat::kClass},
                  {"probabilities", PredictWhat::kProbabilities},
                  {"logits", PredictWhat::kLogits},
                  {"values", PredictWhat::kValues},
                  {"embeddings", PredictWhat::kEmbeddings}},
                 "what is predicted of a node; values are those of a regression, embeddings what "
                 "the last layer reads of it")
      .DefaultText("class, or values of a regression")
      .AllRanks()
      .Mark(kMayDifferOnResume | kNotInherited | kOfPredictions);
  rows.Add("quiet", &o->quiet, "no progress line");
}

}  // namespace

void AddTrainRows(OptionTable& rows, TrainOptions* o, const ModelWords& models) {
  AddGraphRows(rows, o);
  AddRankRows(rows, o);
  AddTaskRows(rows, o);
  AddModelRows(rows, o, models);
  AddEmbeddingRows(rows, &o->embeddings);
  AddStateRows(rows, &o->state, "a run without servers (--graph)");
  rows.Find("state")->DefaultText(
      "where inputs are learnt in one process of one rank, a folder of the run's own: `state` in "
      "that of --checkpoint, else one below TMPDIR that is removed at the end");
  rows.Find("state-fall-back")->Mark(kNotRepeated | kOfTraining);
  rows.Find("accept-loss")->Mark(kNotRepeated | kOfTraining);
  AddSamplingRows(rows, o);
  AddTrainingRows(rows, o);
  o->tasks.link.AddRows(rows);
  AddMachineRows(rows, o);
  AddCheckpointRows(rows, &o->checkpoint);
  AddOutputRows(rows, o);
  AddHttpRows(rows, &o->http);
  for (const char* const name : {"http-listen", "http-address-file", "http-token-file"}) {
    rows.Find(name)->Mark(kNotRepeated | kOfOutput);
  }
}

int64_t DefaultEpochs(int64_t steps) {
  const int64_t epochs = (kDefaultSteps + steps - 1) / std::max<int64_t>(1, steps);
  return std::clamp(epochs, kLeastEpochs, kMostEpochs);
}

TrainOptions OptionsOfRank(const TrainOptions& options, int index) {
  TrainOptions own = options;
  own.rank = options.rank * options.ranks_here() + index;
  own.world_size = options.all_ranks();
  own.logical_ranks = 0;
  // What all ranks map, one of them checks: nobody computes before all have met.
  if (index > 0 && !options.graph.empty() && !options.part_only) own.verify = VerifyLevel::kHeaders;
  return own;
}

Json SharedFacts(const TrainOptions& options) {
  TrainOptions copy = options;
  OptionTable rows;
  AddTrainRows(rows, &copy);
  Json facts = rows.ToJson(OptionTable::Which::kAllRanks);
  facts["predict"] = !options.predict.empty();               // whether; only rank 0 writes the file
  facts["checkpoint"] = !options.checkpoint.folder.empty();  // likewise
  return facts;
}

std::vector<std::string> MarkedKeys(const TrainOptions& options, OptionMarks marks) {
  TrainOptions copy = options;
  OptionTable rows;
  AddTrainRows(rows, &copy);
  std::vector<std::string> keys;
  for (const auto& row : rows.rows()) {
    if (row->marked(marks)) keys.push_back(row->Key());
  }
  return keys;
}

Json ToJson(const TrainOptions& options) {
  TrainOptions copy = options;
  OptionTable rows;
  AddTrainRows(rows, &copy);
  Json json = rows.ToJson();
  json["mode"] = options.part_only                ? "part-only"
                 : options.remote.servers.empty() ? "embedded"
                 : options.hybrid()               ? "hybrid"
                                                  : "partitioned";
  return json;
}

}  // namespace halograph
