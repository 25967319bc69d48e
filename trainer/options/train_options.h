// All that a training run is told. Plain values with their defaults; AddTrainRows has the rest.
// trainer/launch reads them from the command line, fills in what follows from others, and checks
// which go together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/remote_options.h"
#include "common/base/status.h"
#include "common/graph/partition.h"
#include "common/http/http_options.h"
#include "common/program/options.h"
#include "common/state/options/state_folder_options.h"
#include "common/storage/json.h"
#include "trainer/options/checkpoint_options.h"
#include "trainer/options/control_options.h"
#include "trainer/options/embedding_options.h"
#include "trainer/options/fanouts.h"
#include "trainer/options/model_options.h"
#include "trainer/options/option_marks.h"
#include "trainer/options/sampler_options.h"
#include "trainer/options/task_choices.h"
#include "trainer/options/task_options.h"

namespace halograph {

// Also the size of full batches (NodeTaskOptions::full_batch).
inline constexpr int64_t kMaxBatchSize = 1 << 24;

enum class PredictNodes { kAll, kTest };
enum class OptimizerKind { kAdam, kSgd };
// What chooses the rows of other parts that a rank keeps (client/cached).
enum class CacheKind { kLookAhead, kStatic, kOff };
// Where the sources of a minibatch's last layer are numbered that servers answer.
enum class CompactOn { kHost, kDevice };
// As what gradients travel between ranks.
enum class GradientDtype { kFloat32, kBfloat16 };

// What the cache of remote rows takes, if nothing else is said: one share of what is free.
inline constexpr int64_t kCacheShare = 8;

// Minibatches that are sampled in one call, at most.
inline constexpr int64_t kMostInBulk = 64;

// With tune, threads that sample at most, and threads that gather.
inline constexpr int kMostTunedThreads = 8;

// What a user can do where memory runs out.
inline constexpr char kTrainingMemoryAdvice[] =
    "lower --batch-size, --eval-batch-size, --fanouts, --prefetch or --sample-threads, or "
    "raise the limits of memory (ulimit -v)";

struct TrainOptions {
  std::string config;  // file that options were read from; or none. Not part of the configuration

  // Where the graph is: exactly one of the two.
  std::string graph;                            // partition folder: embedded
  RemoteOptions remote;                         // its servers: partitioned or hybrid
  VerifyLevel verify = VerifyLevel::kContents;  // of all that is mapped
  // With servers only. Where the topology is: with them (kTopologyServers, or empty: partitioned),
  // fetched from them into cache_dir (kTopologyLocal), or in a partition folder (hybrid).
  std::string topology;
  std::string local;      // partition folder whose parts are mapped instead of asked for; or empty
  std::string cache_dir;  // with kTopologyLocal only; empty: the user's
  // With a partition folder and average_every only: a rank opens its parts and their halos, one at
  // a time, and nothing else.
  bool part_only = false;

  // Of this process among all; in the options of a rank (OptionsOfRank) of this rank among all.
  int rank = 0;
  int world_size = 1;
  // Of all processes, a multiple of their number; 0: one in each.
  int logical_ranks = 0;
  std::string master_addr = "127.0.0.1";
  int master_port = 29500;
  std::string job;  // whose ranks meet; those of another are refused
  // remote.timeout is that of every collective too; remote.server_timeout comes on top there.

  std::string task;                   // empty: the only one
  TaskOptions tasks;                  // of all kinds of tasks
  std::vector<std::string> features;  // side by side; empty: the only one, else `feat`
  FeatureNormalization normalization = FeatureNormalization::kNone;

  EmbeddingOptions embeddings;  // inputs that are learnt
  StateFolderOptions state;     // where they are kept, without servers

  std::string model = "auto";                   // the graph decides (trainer/launch/auto_model.h)
  std::shared_ptr<ModelOptions> model_options;  // of that model; null: with its defaults
  int64_t layers = 2;

  SamplerOptions sampler;                   // of training
  std::vector<int32_t> fanouts = {15, 10};  // from the seeds outward, one a layer
  // Of relations that are named; fanouts then are of the others, and may be empty (fanouts.h).
  std::vector<RelationFanouts> relation_fanouts;
  int64_t bulk = 1;  // minibatches of training that are sampled in one call
  bool replace = false;
  std::string sampling_weights;  // edge feature to draw by; empty: uniformly
  std::string edge_weight;       // edge feature that weighs neighbours; empty: all weigh 1
  int64_t batch_size = 1000;     // per rank
  int64_t epochs = 0;            // 0: DefaultEpochs
  // Epochs that each part is trained alone between two averages of the models; 0: all ranks train
  // one model, whose gradients are summed in every step.
  int64_t average_every = 0;
  // With average_every 1 only: steps of each part between two averages within an epoch; 0: none
  // within.
  int64_t average_steps = 0;
  OptimizerKind optimizer = OptimizerKind::kAdam;
  double learning_rate = 0.003;  // raw features are learnt with it too, unlike with 0.01
  double weight_decay = 0;
  ControlOptions control;  // how the rate changes, and what ends training
  Precision precision = Precision::kFloat32;
  GradientDtype gradient_dtype = GradientDtype::kFloat32;
  uint64_t seed = 0;

  int64_t eval_every = 1;             // epochs; 0: after the last only
  std::vector<int32_t> eval_fanouts;  // these two empty: as those of training
  std::vector<RelationFanouts> eval_relation_fanouts;
  int64_t eval_batch_size = 0;  // 0: as batch_size

  std::string device = "cpu";       // that computes (device_name.h)
  int64_t device_cache_memory = 0;  // bytes there of rows of features that stay
  CompactOn compact = CompactOn::kHost;
  // Of the ranks of this machine. No option: the launcher says it.
  int local_rank = 0;
  int threads = 0;         // for computation; 0: this machine's cores shared by its ranks
  int sample_threads = 2;  // for preparing minibatches
  // Of them at least this many for each minibatch; 0: as few as sampler_memory allows.
  int threads_per_minibatch = 0;
  // Whether training finds out how threads are best shared out: `threads` and `sample_threads` then
  // are the most that it tries.
  bool tune = false;
  int64_t sampler_memory = 0;   // bytes of tables; 0: an eighth of the machine's over its ranks
  int prefetch = 4;             // steps whose rows are gathered or ready at most
  int64_t prefetch_memory = 0;  // bytes of all steps that are prepared; 0: as sampler_memory

  CacheKind cache = CacheKind::kLookAhead;  // with servers
  int64_t cache_memory = 0;                 // bytes; 0: cache_memory_default
  // An eighth of what is free, over the machine's ranks. No option: each run finds it anew.
  int64_t cache_memory_default = 0;

  CheckpointOptions checkpoint;

  std::string log;          // JSON lines; empty: none
  std::string tensorboard;  // folder of event files; empty: none
  std::string trace;        // file of Chrome's trace events; empty: none
  std::string predict;      // .npy or .csv; empty: none
  PredictNodes predict_nodes = PredictNodes::kAll;
  PredictWhat predict_what = PredictWhat::kClass;
  bool quiet = false;  // no progress line
  HttpOptions http;    // where it shows metrics; of several processes on a machine, of the first

  [[nodiscard]] Fanouts AllFanouts() const { return {fanouts, relation_fanouts}; }
  [[nodiscard]] Fanouts AllEvalFanouts() const { return {eval_fanouts, eval_relation_fanouts}; }
  // Ranks of this process, of the number that it is told; ranks of all processes.
  [[nodiscard]] int ranks_here() const {
    return logical_ranks == 0 ? 1 : logical_ranks / world_size;
  }
  [[nodiscard]] int all_ranks() const { return world_size * ranks_here(); }
  [[nodiscard]] int64_t MemoryOfCache() const {
    return cache_memory > 0 ? cache_memory : cache_memory_default;
  }
  // Topology mapped here, features behind servers.
  [[nodiscard]] bool hybrid() const { return !topology.empty() && topology != kTopologyServers; }
};

// For whoever names no number of epochs: those that make kDefaultSteps steps, between the two
// bounds. `steps`: of an epoch.
inline constexpr int64_t kDefaultSteps = 200;
inline constexpr int64_t kLeastEpochs = 10;
inline constexpr int64_t kMostEpochs = 50;
[[nodiscard]] int64_t DefaultEpochs(int64_t steps);

// Those of rank `index` of the process that `options` are of: it is told to be that one of all
// ranks, each in a process of its own. Requires index < options.ranks_here().
[[nodiscard]] TrainOptions OptionsOfRank(const TrainOptions& options, int index);

// What --model takes, and says of it in --help: as the registry of models has it.
struct ModelWords {
  std::vector<std::string> names = {};  // none: any word
  std::string help = {};
};

// A row for each of them, model_options included if set: name, range, help, and whether all ranks
// must agree.
void AddTrainRows(OptionTable& rows, TrainOptions* options, const ModelWords& models = {});

// Every option by name, and the mode, for the log. Keys snake_case, durations in seconds.
[[nodiscard]] Json ToJson(const TrainOptions& options);
// Those that all ranks must have alike.
[[nodiscard]] Json SharedFacts(const TrainOptions& options);

}  // namespace halograph
