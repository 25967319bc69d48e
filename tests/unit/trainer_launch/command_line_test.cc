#include "trainer/launch/command_line.h"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/processors.h"
#include "trainer/launch/auto_model.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// What a command line comes to.
struct ParsedCommandLine {
  std::optional<int> exit_code;  // set: the run does not begin
  TrainOptions options;
};

ParsedCommandLine Parse(std::vector<const char*> arguments,
                        std::map<std::string, std::string> variables = {}) {
  Program program("halograph-train", "Trains.");
  ParsedCommandLine parsed;
  AddTrainOptions(program, &parsed.options, [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
  bool begins = false;
  program.Run([&] {
    begins = true;
    return OkStatus();
  });
  arguments.insert(arguments.begin(), "halograph-train");
  const int code = program.Main(static_cast<int>(arguments.size()), arguments.data());
  if (!begins) parsed.exit_code = code;
  return parsed;
}

// The message of wrong usage.
std::string Refusal(const std::vector<const char*>& arguments,
                    const std::map<std::string, std::string>& variables = {}) {
  testing::internal::CaptureStderr();
  const ParsedCommandLine parsed = Parse(arguments, variables);
  std::string message = testing::internal::GetCapturedStderr();
  EXPECT_EQ(parsed.exit_code, 2) << message;
  return message;
}

TEST(CommandLineTest, AModelWithoutNeighborsRefusesWhatSamples) {
  EXPECT_FALSE(Parse({"--graph", "g", "--model", "embedding"}).exit_code.has_value());
  EXPECT_THAT(Refusal({"--graph", "g", "--model", "embedding", "--fanouts", "5,5"}),
              HasSubstr("--fanouts: --model embedding reads no neighbours"));
}

Schema WithRelations(size_t relations) {
  Schema schema;
  schema.graph_name = "g";
  schema.node_types.resize(1);
  schema.relations.resize(relations);
  return schema;
}

TEST(AutoModelTest, OneRelationGetsSageAndSeveralRgcnWithTheOptionsGiven) {
  for (const size_t relations : {1U, 2U}) {
    TrainOptions options = Parse({"--graph", "g", "--dropout", "0.1", "--residual"}).options;
    EXPECT_EQ(options.model, "auto");
    ASSERT_TRUE(ResolveModel(WithRelations(relations), &options).ok());
    const Json json = ToJson(options);
    EXPECT_EQ(json["model"], relations == 1 ? "sage" : "rgcn");
    EXPECT_EQ(json["dropout"], 0.1);
    EXPECT_EQ(json["residual"], true);
    EXPECT_EQ(json["hidden"], relations == 1 ? 256 : 64) << "each model has its own default";
    EXPECT_EQ(json.contains("bases"), relations == 2);
    EXPECT_EQ(SharedFacts(options)["model"], json["model"]);
  }
}

TEST(AutoModelTest, AnOptionOfTheOtherModelIsRefusedWithTheReason) {
  TrainOptions bases = Parse({"--graph", "g", "--bases", "2"}).options;
  EXPECT_THAT(
      Message(ResolveModel(WithRelations(1), &bases)),
      HasSubstr("--bases: graph 'g' has 1 node type and 1 relation, so --model auto is sage, "
                "which has no such option; leave it out, or give --model rgcn"));
  TrainOptions pool = Parse({"--graph", "g", "--aggregator", "pool"}).options;
  EXPECT_THAT(Message(ResolveModel(WithRelations(3), &pool)),
              HasSubstr("1 node type and 3 relations, so --model auto is rgcn"));
}

TEST(AutoModelTest, InputsOfTheModelsOwnRefuseOthersBeforeTheGraphIsOpened) {
  EXPECT_THAT(Refusal({"--graph", "g", "--rgcn-input", "featureless", "--embed", "a:8"}),
              HasSubstr("--embed and --rgcn-input featureless"));
}

TEST(AutoModelTest, WhatNeitherModelTakesIsWrongUsage) {
  EXPECT_THAT(Refusal({"--graph", "g", "--heads", "2"}),
              HasSubstr("--heads: --model auto has no such option; these have it: gat"));
  EXPECT_THAT(Refusal({"--graph", "g", "--blocks", "3"}), HasSubstr("does not divide --hidden 64"));
}

TEST(CommandLineTest, AnOptionOfAnotherModelIsRefusedWithTheModelsThatHaveIt) {
  EXPECT_THAT(
      Refusal({"--graph", "g", "--model", "sgc", "--residual"}),
      HasSubstr("--residual: --model sgc has no such option; these have it: sage, gcn, gat, "
                "rgcn"));
  EXPECT_THAT(Refusal({"--graph", "g", "--model", "gcn", "--bases=3"}),
              HasSubstr("these have it: rgcn"));
  EXPECT_THAT(Refusal({"--graph", "g", "--residula"}), HasSubstr("did you mean --residual?"));
  EXPECT_THAT(Refusal({"--graph", "g", "--embed-dim", "64"}), HasSubstr("did you mean --embed?"));
}

TEST(CommandLineTest, AModelWithInputsOfItsOwnRefusesOthers) {
  const auto with = [](std::vector<const char*> more) {
    std::vector<const char*> words = {"--graph",      "g",          "--model", "rgcn",
                                      "--rgcn-input", "featureless"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_FALSE(Parse(with({"--bases", "3"})).exit_code.has_value());
  EXPECT_THAT(Refusal(with({"--embed", "a:8"})),
              HasSubstr("--embed and --rgcn-input featureless: a learnt row of each node is the "
                        "only input there is"));
  EXPECT_THAT(Refusal(with({"--features", "x"})), HasSubstr("--features and --rgcn-input"));
  EXPECT_THAT(Refusal(with({"--normalize-features", "row"})),
              HasSubstr("--normalize-features and --rgcn-input"));
  EXPECT_THAT(Refusal(with({"--average-every", "1"})),
              HasSubstr("--average-every and --rgcn-input"));
  EXPECT_THAT(Refusal(with({"--layers", "1", "--fanouts", "5"})),
              HasSubstr("--layers 1 and --rgcn-input"));
  EXPECT_THAT(Refusal(with({"--blocks", "4"})), HasSubstr("--blocks 4 and --rgcn-input"));
  EXPECT_THAT(Refusal({"--graph", "g", "--model", "rgcn", "--rgcn-input", "one-hot"}),
              HasSubstr("--rgcn-input"));
}

TEST(CommandLineTest, AFullBatchIsOfAllRowsAndAllNeighbors) {
  const TrainOptions options =
      Parse({"--graph", "g", "--full-batch", "--layers", "3", "--eval-batch-size", "50"}).options;
  EXPECT_THAT(options.fanouts, ElementsAre(-1, -1, -1));
  EXPECT_EQ(options.batch_size, kMaxBatchSize);
  EXPECT_EQ(options.eval_batch_size, 50);
  // As a log has it that is run again.
  const TrainOptions again = Parse({"--graph", "g", "--full-batch", "--batch-size", "16777216",
                                    "--fanouts", "cites=-1:-1,*=-1:-1"})
                                 .options;
  EXPECT_EQ(again.eval_batch_size, kMaxBatchSize);
  EXPECT_THAT(Refusal({"--graph", "g", "--full-batch", "--batch-size", "1000"}),
              HasSubstr("--full-batch and --batch-size 1000: a step is about all rows"));
  EXPECT_THAT(Refusal({"--graph", "g", "--full-batch", "--fanouts", "-1,10"}),
              HasSubstr("--full-batch and --fanouts -1,10: a full batch takes all neighbours"));
}

TEST(CommandLineTest, InBatchNegativesNeedAnotherEdgeInTheBatch) {
  const std::vector<const char*> words = {"--graph", "g", "--negative-sampling", "in-batch"};
  EXPECT_FALSE(Parse(words).exit_code.has_value());
  std::vector<const char*> one = words, shared = words;
  one.insert(one.end(), {"--batch-size", "1"});
  EXPECT_THAT(Refusal(one), HasSubstr("an edge has no other one beside it"));
  shared.push_back("--shared-negatives");
  EXPECT_THAT(Refusal(shared), HasSubstr("nothing is drawn to be shared"));
}

TEST(CommandLineTest, ModelsAreAveragedEverySoManyEpochsOrSteps) {
  const auto parsed = [](const char* every) {
    return Parse({"--graph", "g", "--average-every", every}).options;
  };
  EXPECT_EQ(parsed("3").average_every, 3);
  EXPECT_EQ(parsed("3").average_steps, 0);
  EXPECT_EQ(parsed("20steps").average_every, 1);
  EXPECT_EQ(parsed("20steps").average_steps, 20);
  EXPECT_EQ(parsed("0").average_every, 0);
  // A checkpoint of a program that knew epochs only has a number.
  EXPECT_EQ(SharedFacts(parsed("3"))["average_every"], Json(3));
  EXPECT_EQ(SharedFacts(parsed("20steps"))["average_every"], Json("20steps"));
}

TEST(CommandLineTest, OtherIntervalsOfAveragingAreRefused) {
  const auto refusal = [](const char* every) {
    return Refusal({"--graph", "g", "--average-every", every});
  };
  EXPECT_THAT(
      refusal("0steps"),
      HasSubstr("--average-every: '0steps' is out of range, expected 1 to 68719476736 steps"));
  for (const char* other : {"5x", "-1", "-3steps", "steps", "1.5", "20 steps", "20step", "+2"}) {
    EXPECT_THAT(refusal(other), HasSubstr(fmt::format("--average-every: '{}' is neither, expected "
                                                      "epochs (1), or steps with their unit "
                                                      "(20steps)",
                                                      other)));
  }
  EXPECT_THAT(refusal("16777217"), HasSubstr("expected 0 to 16777216 epochs"));
  EXPECT_THAT(refusal("99999999999999999999steps"), HasSubstr("is out of range, expected 1 to"));
}

TEST(CommandLineTest, AveragedTrainingEndsByTheClockAndByPatienceButNotAtAStep) {
  std::vector<const char*> words = {"--graph",      "g",  "--average-every", "5steps",
                                    "--time-limit", "1h", "--patience",      "3"};
  EXPECT_FALSE(Parse(words).exit_code.has_value());
  words.insert(words.end(), {"--max-steps", "5"});
  EXPECT_THAT(Refusal(words), HasSubstr("--average-every and --max-steps"));
}

TEST(CommandLineTest, PartsAloneHaveNoMeansOfTheWholeTrainingSet) {
  std::vector<const char*> words = {
      "--graph", "g", "--normalize-features", "standard", "--average-every", "1", "--epochs", "3"};
  EXPECT_EQ(Parse(words).options.normalization, FeatureNormalization::kStandard);
  words.push_back("--part-only");
  EXPECT_THAT(Refusal(words), HasSubstr("--part-only and --normalize-features standard: no rank "
                                        "knows the training nodes of all parts"));
}

TEST(CommandLineTest, WeightsOfEdgesNeedASumOfNeighboursAndWholeParts) {
  const auto with = [](std::vector<const char*> more) {
    std::vector<const char*> words = {"--graph", "g", "--edge-weight", "w"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const char* const model : {"auto", "sage", "gcn", "gat", "sgc", "rgcn"}) {
    EXPECT_EQ(Parse(with({"--model", model})).options.edge_weight, "w") << model;
  }
  EXPECT_FALSE(Parse(with({"--aggregator", "mean"})).exit_code.has_value());
  for (const char* const model : {"auto", "sage"}) {
    EXPECT_THAT(
        Refusal(with({"--model", model, "--aggregator", "pool"})),
        AllOf(HasSubstr("--edge-weight w: --aggregator pool"), HasSubstr("give --aggregator mean")))
        << model;
  }
  EXPECT_THAT(Refusal(with({"--part-only", "--average-every", "1", "--epochs", "3"})),
              HasSubstr("--part-only and --edge-weight w: a halo has no features of edges"));
  EXPECT_FALSE(Parse(with({"--average-every", "1"})).exit_code.has_value());
  EXPECT_THAT(Refusal(with({"--model", "embedding"})),
              HasSubstr("--edge-weight: --model embedding reads no neighbours"));
}

TEST(CommandLineTest, ANameWithACommaStandsInQuotes) {
  EXPECT_THAT(Parse({"--graph", "g", "--features", "\"a,b\",c", "d"}).options.features,
              ElementsAre("a,b", "c", "d"));
}

TEST(CommandLineTest, WhatIsPredictedNeedsPredictions) {
  EXPECT_THAT(Refusal({"--graph", "g", "--predict-what", "logits"}),
              HasSubstr("--predict-what is for --predict"));
}

TEST(CheckLearntUseTest, OptionsOfLearntInputsNeedSuchInputs) {
  EmbeddingOptions options;
  EXPECT_TRUE(CheckLearntUse(options, {}).ok());
  options.learning_rate = 0.5;
  EXPECT_TRUE(CheckLearntUse(options, {{0, 64}}).ok());
  EXPECT_THAT(Message(CheckLearntUse(options, {})), HasSubstr("--embed-lr: no inputs are learnt"));
  options = EmbeddingOptions();
  options.staleness = 1;
  EXPECT_THAT(Message(CheckLearntUse(options, {})), HasSubstr("--staleness"));
  options = EmbeddingOptions();
  options.weight_decay = 0.1;
  EXPECT_THAT(Message(CheckLearntUse(options, {})), HasSubstr("--embed-weight-decay"));
  EXPECT_THAT(Refusal({"--graph", "g", "--embed-weight-decay", "-1"}),
              HasSubstr("--embed-weight-decay"));
}

TEST(CommandLineTest, NegativesOfAStepAreBounded) {
  const std::vector<const char*> words = {"--graph", "g", "--negatives", "1000000"};
  EXPECT_THAT(Refusal(words), HasSubstr("--shared-negatives"));
  std::vector<const char*> shared = words;
  shared.push_back("--shared-negatives");
  EXPECT_FALSE(Parse(shared).exit_code.has_value());
}

TEST(CommandLineTest, OptionsArriveAndDefaultsAreResolved) {
  const ParsedCommandLine parsed = Parse({"--graph",
                                          "g",
                                          "--layers",
                                          "3",
                                          "--fanouts",
                                          "5,-1,2",
                                          "--batch-size",
                                          "7",
                                          "--timeout",
                                          "500ms",
                                          "--normalize-features",
                                          "row",
                                          "--replace",
                                          "--predict",
                                          "p.csv",
                                          "--predict-nodes",
                                          "test",
                                          "--verify",
                                          "contents",
                                          "--lr",
                                          "0.5"});
  ASSERT_FALSE(parsed.exit_code.has_value());
  const TrainOptions& o = parsed.options;
  EXPECT_EQ(o.graph, "g");
  EXPECT_THAT(o.fanouts, ElementsAre(5, -1, 2));
  EXPECT_THAT(o.eval_fanouts, ElementsAre(5, -1, 2));
  EXPECT_EQ(o.eval_batch_size, 7);
  EXPECT_EQ(o.remote.timeout, std::chrono::milliseconds(500));
  EXPECT_EQ(o.normalization, FeatureNormalization::kRow);
  EXPECT_EQ(o.predict_nodes, PredictNodes::kTest);
  EXPECT_EQ(o.verify, VerifyLevel::kContents);
  EXPECT_TRUE(o.replace);
  EXPECT_EQ(o.learning_rate, 0.5);
  EXPECT_GE(o.threads, 1);
}

TEST(CommandLineTest, FanoutsMayBeOfRelationsAndStandApart) {
  const TrainOptions o =
      Parse({"--graph", "g", "--fanouts", "cites=4:-1", "*=3:2", "--eval-fanouts", "7", "-1"})
          .options;
  EXPECT_THAT(o.fanouts, ElementsAre());
  EXPECT_EQ(ToJson(o)["fanouts"], "cites=4:-1,*=3:2");
  EXPECT_EQ(SharedFacts(o)["fanouts"], "cites=4:-1,*=3:2");
  EXPECT_EQ(ToJson(o)["eval_fanouts"], Json({7, -1}));
  EXPECT_THAT(Refusal({"--graph", "g", "--fanouts", "5,x"}),
              HasSubstr("--fanouts: 'x' is no fanout"));
}

TEST(CommandLineTest, SeveralFeaturesAreAListOfNamesThatDiffer) {
  EXPECT_THAT(Parse({"--graph", "g", "--features", "feat,deg"}).options.features,
              ElementsAre("feat", "deg"));
  EXPECT_THAT(Refusal({"--graph", "g", "--features", "feat,deg,feat"}),
              HasSubstr("--features: 'feat' is named twice"));
}

TEST(CommandLineTest, PrecisionIsOneOfTwoAndMustAgreeOnAllRanks) {
  EXPECT_EQ(Parse({"--graph", "g"}).options.precision, Precision::kFloat32);
  const TrainOptions o = Parse({"--graph", "g", "--precision", "bf16"}).options;
  EXPECT_EQ(o.precision, Precision::kBf16);
  EXPECT_EQ(SharedFacts(o)["precision"], "bf16");
  EXPECT_EQ(ToJson(o)["precision"], "bf16");
  EXPECT_THAT(Refusal({"--graph", "g", "--precision", "int3"}),
              AllOf(HasSubstr("int3"), HasSubstr("float32"), HasSubstr("bf16")));
}

TEST(CommandLineTest, GradientDtypeMustAgreeOnAllRanksAndIsOfGradientsThatTravel) {
  EXPECT_EQ(Parse({"--graph", "g"}).options.gradient_dtype, GradientDtype::kFloat32);
  const TrainOptions o = Parse({"--graph", "g", "--gradient-dtype", "bfloat16"}).options;
  EXPECT_EQ(o.gradient_dtype, GradientDtype::kBfloat16);
  EXPECT_EQ(SharedFacts(o)["gradient_dtype"], "bfloat16");
  EXPECT_THAT(Refusal({"--graph", "g", "--gradient-dtype", "float16"}),
              AllOf(HasSubstr("float16"), HasSubstr("float32"), HasSubstr("bfloat16")));
  EXPECT_THAT(Refusal({"--graph", "g", "--gradient-dtype", "bfloat16", "--average-every", "2"}),
              HasSubstr("--average-every and --gradient-dtype bfloat16"));
}

TEST(CommandLineTest, EpochsThatAreNotNamedAreThoseThatMakeEnoughSteps) {
  EXPECT_EQ(Parse({"--graph", "g"}).options.epochs, 0) << "known once the seeds are";
  EXPECT_EQ(DefaultEpochs(1), 50);
  EXPECT_EQ(DefaultEpochs(7), 29);
  EXPECT_EQ(DefaultEpochs(1000), 10);
}

TEST(CommandLineTest, TheModelsOwnOptionsArriveAndMustAgreeOnAllRanks) {
  const TrainOptions defaults = Parse({"--graph", "g"}).options;
  EXPECT_EQ(SharedFacts(defaults)["hidden"], 256);
  const TrainOptions o =
      Parse({"--graph", "g", "--hidden", "32", "--model=sage", "--dropout", "0.25"}).options;
  EXPECT_EQ(SharedFacts(o)["hidden"], 32);
  EXPECT_EQ(SharedFacts(o)["dropout"], 0.25);
  EXPECT_EQ(ToJson(o)["hidden"], 32);
}

TEST(CommandLineTest, OfAnOptionGivenTwiceTheLastCountsListsToo) {
  const TrainOptions o = Parse({"--graph", "g", "--epochs", "50", "--fanouts", "9,9", "--epochs",
                                "6", "--fanouts", "3", "4"})
                             .options;
  EXPECT_EQ(o.epochs, 6);
  EXPECT_THAT(o.fanouts, ElementsAre(3, 4));
}

TEST(CommandLineTest, NamesAndValuesThatAreNotAllowedAreToldWithThoseThatAre) {
  EXPECT_THAT(Refusal({"--graph", "g", "--epoch", "3"}), HasSubstr("did you mean --epochs?"));
  EXPECT_THAT(Refusal({"--graph", "g", "--seed", "-1"}),
              HasSubstr("--seed is '-1', expected a whole number of 0 or more"));
  for (const std::string option : {"--threads", "--sample-threads", "--threads-per-minibatch"}) {
    const std::string least = option == "--sample-threads" ? "1" : "0";
    EXPECT_THAT(Refusal({"--graph", "g", option.c_str(), "1000"}),
                HasSubstr(option + " is 1000, expected " + least + " to 256"));
  }
}

TEST(CommandLineTest, ThreadsThatSampleAndTheirMemory) {
  const TrainOptions defaults = Parse({"--graph", "g"}).options;
  EXPECT_EQ(defaults.threads_per_minibatch, 0);
  EXPECT_GT(defaults.sampler_memory, 0) << "an eighth of the machine's";
  EXPECT_EQ(Parse({"--graph", "g"}, {{"LOCAL_WORLD_SIZE", "4"}}).options.sampler_memory,
            defaults.sampler_memory / 4);
  EXPECT_EQ(Parse({"--graph", "g"}, {{"LOCAL_WORLD_SIZE", "4"}}).options.prefetch_memory,
            defaults.prefetch_memory / 4);
  const TrainOptions o = Parse({"--graph", "g", "--sample-threads", "6", "--threads-per-minibatch",
                                "3", "--sampler-memory", "2GiB", "--prefetch-memory", "3GiB"})
                             .options;
  EXPECT_EQ(o.prefetch_memory, int64_t{3} << 30);
  EXPECT_EQ(o.threads_per_minibatch, 3);
  EXPECT_EQ(o.sampler_memory, int64_t{2} << 30);
  EXPECT_THAT(Refusal({"--graph", "g", "--threads-per-minibatch", "3"}),
              HasSubstr("--threads-per-minibatch is 3, expected 0 to 2"));
  EXPECT_THAT(Refusal({"--graph", "g", "--sampler-memory", "much"}), HasSubstr("--sampler-memory"));
}

TEST(CommandLineTest, TuneTakesTheRanksShareOfTheProcessors) {
  const int processors = AvailableProcessors();
  const TrainOptions o = Parse({"--graph", "g", "--tune"}).options;
  EXPECT_TRUE(o.tune);
  EXPECT_EQ(o.threads, processors);
  EXPECT_EQ(o.sample_threads, std::min(processors, kMostTunedThreads));
  const TrainOptions shared =
      Parse({"--graph", "g", "--tune"}, {{"LOCAL_WORLD_SIZE", std::to_string(processors)}}).options;
  EXPECT_EQ(shared.threads, 1);
  EXPECT_EQ(shared.sample_threads, 1);
  EXPECT_EQ(SharedFacts(o)["tune"], true);
  EXPECT_FALSE(Parse({"--graph", "g"}).options.tune);
}

TEST(CommandLineTest, TuneRefusesWhatItChoosesAndWhatMustKeepItsBits) {
  for (const char* fixed : {"--threads", "--sample-threads", "--threads-per-minibatch"}) {
    EXPECT_THAT(Refusal({"--graph", "g", "--tune", fixed, "1"}),
                HasSubstr(fmt::format("--tune and {}: --tune chooses numbers of threads", fixed)));
  }
  EXPECT_THAT(
      Refusal({"--graph", "g", "--tune", "--logical-ranks", "2"}),
      HasSubstr("--tune and --logical-ranks 2: another number of threads gives other bits"));
  EXPECT_THAT(Refusal({"--graph", "g", "--tune", "--average-every", "1"}),
              HasSubstr("--tune and --average-every: each part has steps of its own"));
  EXPECT_FALSE(Parse({"--graph", "g", "--tune=false", "--threads", "1"}).exit_code.has_value());
}

TEST(CommandLineTest, ACacheIsOfRowsThatServersHave) {
  EXPECT_EQ(Parse({"--graph", "g"}).options.MemoryOfCache(), 0);
  const TrainOptions served = Parse({"--servers", "h:1"}).options;
  EXPECT_EQ(served.cache, CacheKind::kLookAhead);
  EXPECT_EQ(served.cache_memory, 0) << "each run finds it anew";
  EXPECT_GT(served.MemoryOfCache(), 0) << "an eighth of what is free";
  // What is free may change between the two: the eighth of one of many ranks is little in any case.
  EXPECT_LT(Parse({"--servers", "h:1"}, {{"LOCAL_WORLD_SIZE", "1000"}}).options.MemoryOfCache(),
            served.MemoryOfCache() / 2);
  const TrainOptions o =
      Parse({"--servers", "h:1", "--cache", "static", "--cache-memory", "2GiB"}).options;
  EXPECT_EQ(o.cache, CacheKind::kStatic);
  EXPECT_EQ(o.MemoryOfCache(), int64_t{2} << 30);
  EXPECT_THAT(Refusal({"--graph", "g", "--cache", "off"}), HasSubstr("--cache is for --servers"));
  EXPECT_THAT(Refusal({"--graph", "g", "--cache-memory", "1GiB"}),
              HasSubstr("--cache-memory is for --servers"));
  EXPECT_THAT(Refusal({"--servers", "h:1", "--cache", "off", "--cache-memory", "1GiB"}),
              HasSubstr("--cache-memory is for --cache look-ahead or static"));
  EXPECT_THAT(Refusal({"--servers", "h:1", "--average-every", "2", "--cache-memory", "1GiB"}),
              HasSubstr("--average-every and --cache-memory"));
  EXPECT_EQ(Parse({"--servers", "h:1", "--average-every", "2"}).options.MemoryOfCache(), 0);
}

TEST(CommandLineTest, ADeviceIsNamed) {
  EXPECT_EQ(Parse({"--graph", "g"}).options.device, "cpu");
  const TrainOptions o = Parse({"--graph", "g", "--device", "cuda"}, {{"LOCAL_RANK", "3"}}).options;
  EXPECT_EQ(o.device, "cuda");
  EXPECT_EQ(o.local_rank, 3);
  EXPECT_THAT(Refusal({"--graph", "g", "--device", "gpu"}),
              HasSubstr("--device: 'gpu' is none of cpu, cuda, cuda:N and auto"));
  EXPECT_EQ(Parse({"--graph", "g", "--device", "cuda:0", "--average-every", "2"}).options.device,
            "cuda:0");
  EXPECT_EQ(Parse({"--graph", "g", "--device", "auto", "--logical-ranks", "4"}).options.device,
            "auto");
  EXPECT_EQ(Parse({"--graph", "g", "--device", "cuda"}).options.device_cache_memory, 0);
  EXPECT_EQ(Parse({"--graph", "g", "--device", "auto", "--device-cache-memory", "2GiB"})
                .options.device_cache_memory,
            int64_t{2} << 30);
  EXPECT_THAT(Refusal({"--graph", "g", "--device-cache-memory", "2GiB"}),
              HasSubstr("--device-cache-memory is for --device cuda"));
  EXPECT_EQ(o.compact, CompactOn::kHost);
  EXPECT_EQ(Parse({"--servers", "a:1", "--compact", "device", "--device", "cuda"}).options.compact,
            CompactOn::kDevice);
  EXPECT_THAT(Refusal({"--servers", "a:1", "--compact", "device"}),
              HasSubstr("--compact device and --device cpu"));
  EXPECT_THAT(
      Refusal({"--servers", "a:1", "--topology", "t", "--compact", "device", "--device", "cuda"}),
      HasSubstr("--compact device and --topology t"));
  EXPECT_THAT(Refusal({"--graph", "g", "--device", "cuda", "--compact", "device"}),
              HasSubstr("--compact device and --graph"));
}

TEST(CommandLineTest, TraceAndLogAreTwoFiles) {
  EXPECT_THAT(Refusal({"--graph", "g", "--log", "f", "--trace", "f"}),
              HasSubstr("--trace and --log are one file, f"));
}

TEST(CommandLineTest, TheOptimizerIsChosenByName) {
  EXPECT_EQ(Parse({"--graph", "g"}).options.optimizer, OptimizerKind::kAdam);
  EXPECT_EQ(Parse({"--graph", "g", "--optimizer", "sgd"}).options.optimizer, OptimizerKind::kSgd);
  EXPECT_THAT(Refusal({"--graph", "g", "--optimizer", "adma"}), HasSubstr("--optimizer"));
}

TEST(CommandLineTest, AScheduleTakesItsOwnOptionsAndRefusesThoseOfOthers) {
  const TrainOptions o = Parse({"--graph", "g", "--lr-schedule", "step", "--lr-step-epochs", "30",
                                "--lr-decay", "0.5", "--warmup-steps", "7", "--clip-norm", "2"})
                             .options;
  EXPECT_EQ(o.control.lr_schedule, LrSchedule::kStep);
  EXPECT_EQ(SharedFacts(o)["lr_step_epochs"], 30);
  EXPECT_EQ(SharedFacts(o)["warmup_steps"], 7);
  EXPECT_EQ(SharedFacts(o)["clip_norm"], 2);
  EXPECT_THAT(Refusal({"--graph", "g", "--lr-decay", "0.5"}),
              HasSubstr("--lr-decay is for --lr-schedule step"));
  EXPECT_THAT(Refusal({"--graph", "g", "--checkpoint-keep", "2"}),
              HasSubstr("--checkpoint-keep is for --checkpoint"));
  EXPECT_THAT(Refusal({"--graph", "g", "--lr-schedule", "step", "--lr-min", "0"}),
              HasSubstr("--lr-min is for --lr-schedule cosine"));
  EXPECT_THAT(Refusal({"--graph", "g", "--lr-schedule", "cosine", "--lr-min", "0.1"}),
              HasSubstr("--lr-min is 0.1, expected 0 to 0.003 (--lr)"));
}

TEST(CommandLineTest, LimitsArriveAndOnlyTheClockMayDifferBetweenRanks) {
  const TrainOptions o =
      Parse({"--graph", "g", "--max-steps", "700", "--patience", "3", "--min-delta", "0.01",
             "--time-limit", "30m", "--eval-every-steps", "50"})
          .options;
  EXPECT_EQ(o.control.max_steps, 700);
  EXPECT_EQ(o.control.time_limit, std::chrono::minutes(30));
  EXPECT_EQ(ToJson(o)["time_limit"], 1800);
  for (const char* key : {"max_steps", "patience", "min_delta", "eval_every_steps"}) {
    EXPECT_EQ(SharedFacts(o)[key], ToJson(o)[key]);
  }
  EXPECT_FALSE(SharedFacts(o).contains("time_limit"));
  EXPECT_THAT(Refusal({"--graph", "g", "--min-delta", "0.1"}),
              HasSubstr("--min-delta is for --patience"));
  const std::vector<const char*> never = {"--graph", "g", "--patience", "2", "--eval-every", "0"};
  EXPECT_THAT(Refusal(never), HasSubstr("--patience counts evaluations"));
  std::vector<const char*> steps = never;
  steps.insert(steps.end(), {"--eval-every-steps", "5"});
  EXPECT_FALSE(Parse(steps).exit_code.has_value());
}

TEST(CommandLineTest, ServersAreAList) {
  const ParsedCommandLine parsed = Parse({"--servers", "a:1,b:2"});
  ASSERT_FALSE(parsed.exit_code.has_value());
  EXPECT_THAT(parsed.options.remote.servers, ElementsAre("a:1", "b:2"));
}

TEST(CommandLineTest, TheTopologyIsWithTheServersUnlessSaidOtherwise) {
  const TrainOptions partitioned = Parse({"--servers", "a:1", "--local", "g"}).options;
  EXPECT_EQ(partitioned.topology, "servers");
  EXPECT_EQ(partitioned.local, "g");
  EXPECT_FALSE(partitioned.hybrid());
  EXPECT_EQ(ToJson(partitioned)["mode"], "partitioned");
  EXPECT_FALSE(Parse({"--servers", "a:1", "--topology", "servers"}).options.hybrid());
  const TrainOptions folder = Parse({"--servers", "a:1", "--topology", "./local"}).options;
  EXPECT_TRUE(folder.hybrid());
  EXPECT_EQ(folder.topology, "./local");
  EXPECT_EQ(ToJson(folder)["mode"], "hybrid");
  EXPECT_EQ(ToJson(Parse({"--graph", "g"}).options)["mode"], "embedded");
}

TEST(CommandLineTest, FetchedTopologyGoesToTheUsersCacheOrWhereSaid) {
  const std::vector<const char*> fetched = {"--servers", "a:1", "--topology", "local"};
  EXPECT_EQ(Parse(fetched, {{"HOME", "/h"}}).options.cache_dir, "/h/.cache/halograph");
  EXPECT_EQ(Parse(fetched, {{"HOME", "/h"}, {"XDG_CACHE_HOME", "/c"}}).options.cache_dir,
            "/c/halograph");
  EXPECT_EQ(Parse(fetched, {{"HOME", "/h"}, {"XDG_CACHE_HOME", "c"}}).options.cache_dir,
            "/h/.cache/halograph");
  EXPECT_EQ(
      Parse({"--servers", "a:1", "--topology", "local", "--cache-dir", "d"}).options.cache_dir,
      "d");
  EXPECT_THAT(Refusal(fetched), HasSubstr("--cache-dir"));
}

TEST(CommandLineTest, OptionsOfModesThatDoNotGoTogetherAreRefused) {
  EXPECT_THAT(Refusal({"--graph", "g", "--topology", "local"}), HasSubstr("--topology needs"));
  EXPECT_THAT(Refusal({"--graph", "g", "--topology", "servers"}), HasSubstr("--topology needs"));
  EXPECT_THAT(Refusal({"--graph", "g", "--local", "l"}), HasSubstr("--local needs --servers"));
  EXPECT_THAT(Refusal({"--graph", "g", "--columns"}), HasSubstr("--columns needs --servers"));
  EXPECT_THAT(Refusal({"--graph", "g", "--column-pulls"}),
              HasSubstr("--column-pulls needs --servers"));
  EXPECT_THAT(Refusal({"--graph", "g", "--plain-ids"}), HasSubstr("--plain-ids needs --servers"));
  EXPECT_THAT(Refusal({"--servers", "a:1", "--column-pulls"}),
              HasSubstr("--column-pulls needs --columns"));
  EXPECT_THAT(Refusal({"--graph", "g", "--cache-dir", "d"}), HasSubstr("--cache-dir is for"));
  EXPECT_THAT(Refusal({"--servers", "a:1", "--cache-dir", "d"}), HasSubstr("--cache-dir is for"));
  EXPECT_THAT(Refusal({"--servers", "a:1", "--topology", "g", "--cache-dir", "d"}),
              HasSubstr("nothing is fetched"));
}

TEST(CommandLineTest, TheLaunchersValuesAreDefaultsOfTheOptions) {
  const std::map<std::string, std::string> launcher = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "77"}};
  TrainOptions o = Parse({"--graph", "g"}, launcher).options;
  EXPECT_EQ(o.rank, 1);
  EXPECT_EQ(o.world_size, 2);
  EXPECT_EQ(o.master_addr, "h");
  EXPECT_EQ(o.master_port, 77);
  o = Parse({"--graph", "g", "--rank", "2", "--world-size", "3", "--master-port", "78"}, launcher)
          .options;
  EXPECT_EQ(o.rank, 2);
  EXPECT_EQ(o.world_size, 3);
  EXPECT_EQ(o.master_port, 78);
}

TEST(CommandLineTest, TheMasterIsAHostWithBracketsOrWithout) {
  const auto master = [](const char* host) {
    return Parse({"--graph", "g", "--rank", "0", "--world-size", "2", "--master-port", "1",
                  "--master-addr", host})
        .options.master_addr;
  };
  EXPECT_EQ(master("[::1]"), "::1");
  EXPECT_EQ(master("::1"), "::1");
  EXPECT_EQ(master(" node7 "), "node7");
  EXPECT_THAT(Refusal({"--graph", "g", "--master-addr", "node7:80"}),
              HasSubstr("--master-addr: 'node7:80' is neither a host's name nor its address"));
  const std::map<std::string, std::string> launcher = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a b"}, {"MASTER_PORT", "77"}};
  EXPECT_THAT(Refusal({"--graph", "g"}, launcher), HasSubstr("MASTER_ADDR: 'a b'"));
  EXPECT_FALSE(Parse({"--graph", "g"}, {{"MASTER_ADDR", "a b"}}).exit_code.has_value());
}

TEST(CommandLineTest, GivenRanksMakeHalfALaunchersPairHarmless) {
  const ParsedCommandLine parsed =
      Parse({"--graph", "g", "--rank", "0", "--world-size", "1"}, {{"SLURM_NTASKS", "4"}});
  EXPECT_FALSE(parsed.exit_code.has_value());
  EXPECT_EQ(parsed.options.world_size, 1);
}

TEST(CommandLineTest, WrongUsageNamesTheOptionAndExitsWithTwo) {
  EXPECT_THAT(Refusal({}), HasSubstr("either --graph DIR"));
  EXPECT_THAT(Refusal({"--graph", "g", "--servers", "a:1"}), HasSubstr("not both"));
  EXPECT_THAT(Refusal({"--graph", "g", "--model", "no-such-model"}),
              HasSubstr("no model 'no-such-model', expected "));
  EXPECT_THAT(Refusal({"--graph", "g", "--fanouts", "5"}), HasSubstr("--layers"));
  EXPECT_THAT(Refusal({"--graph", "g", "--fanouts", "5,-2"}), HasSubstr("-2"));
  EXPECT_THAT(Refusal({"--graph", "g", "--eval-fanouts", "5"}), HasSubstr("--eval-fanouts"));
  EXPECT_THAT(Refusal({"--graph", "g", "--dropout", "1"}), HasSubstr("--dropout is 1"));
  EXPECT_THAT(Refusal({"--graph", "g", "--batch-size", "0"}), HasSubstr("--batch-size is 0"));
  EXPECT_THAT(Refusal({"--graph", "g", "--lr", "0"}), HasSubstr("--lr"));
  EXPECT_THAT(Refusal({"--graph", "g", "--timeout", "soon"}), HasSubstr("--timeout"));
  EXPECT_THAT(Refusal({"--graph", "g", "--predict", "p.txt"}), HasSubstr(".csv"));
  EXPECT_THAT(Refusal({"--graph", "g", "--no-such"}), HasSubstr("--no-such"));
  EXPECT_THAT(Refusal({"--servers", "a:1,xyz"}), HasSubstr("--servers: 'xyz' is not HOST:PORT"));
  EXPECT_THAT(Refusal({"--servers", "a:0"}), HasSubstr("port of 1 to 65535"));
}

// As a script gives them whose variable is not set.
TEST(CommandLineTest, EmptyValuesAreNotTakenForOptionsThatWereNotGiven) {
  for (const char* option : {"--graph", "--topology", "--local", "--cache-dir"}) {
    EXPECT_THAT(Refusal({"--servers", "a:1", option, ""}), HasSubstr(option));
  }
  for (const char* option : {"--task", "--log", "--predict", "--master-addr"}) {
    EXPECT_THAT(Refusal({"--graph", "g", option, ""}), HasSubstr(option));
  }
}

TEST(CommandLineTest, RanksMustBeWholeAndMeetSomewhere) {
  EXPECT_THAT(Refusal({"--graph", "g", "--rank", "0"}), HasSubstr("--world-size"));
  EXPECT_THAT(Refusal({"--graph", "g", "--world-size", "2"}), HasSubstr("--rank"));
  EXPECT_THAT(Refusal({"--graph", "g", "--rank", "2", "--world-size", "2", "--master-addr", "h",
                       "--master-port", "1"}),
              HasSubstr("--rank is 2"));
  EXPECT_THAT(Refusal({"--graph", "g", "--rank", "0", "--world-size", "2"}),
              HasSubstr("--master-addr"));
  EXPECT_THAT(Refusal({"--graph", "g", "--rank", "0", "--world-size", "2", "--master-addr", "h"}),
              HasSubstr("--master-port"));
  EXPECT_THAT(Refusal({"--graph", "g"}, {{"RANK", "0"}}), HasSubstr("WORLD_SIZE"));
}

TEST(CommandLineTest, LogicalRanksAreSharedOutAndEachHasItsShareOfTheMachine) {
  const std::map<std::string, std::string> launcher = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "77"}};
  const TrainOptions options =
      Parse({"--graph", "g", "--logical-ranks", "6", "--threads", "2"}, launcher).options;
  EXPECT_EQ(options.ranks_here(), 3);
  EXPECT_EQ(options.all_ranks(), 6);
  EXPECT_EQ(options.sampler_memory, Parse({"--graph", "g"}).options.sampler_memory / 3);
  for (int index = 0; index < 3; ++index) {
    const TrainOptions own = OptionsOfRank(options, index);
    EXPECT_EQ(own.rank, 3 + index);
    EXPECT_EQ(own.world_size, 6);
    EXPECT_EQ(own.threads, 2);
    EXPECT_EQ(own.ranks_here(), 1);
    // The same files are checked once.
    EXPECT_EQ(own.verify, index == 0 ? VerifyLevel::kContents : VerifyLevel::kHeaders);
  }
  EXPECT_THAT(Refusal({"--graph", "g", "--logical-ranks", "3"}, launcher),
              HasSubstr("--logical-ranks 3 cannot be shared out to 2 processes"));
  EXPECT_THAT(Refusal({"--graph", "g", "--logical-ranks", "2", "--state", "s"}),
              HasSubstr("--state is for one rank: for 2"));
}

TEST(CommandLineTest, HelpAndVersionExitWithZero) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"--help"}).exit_code, 0);
  EXPECT_EQ(Parse({"--version"}).exit_code, 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("halograph-train "));
}

TEST(CommandLineTest, OptionsOfTheTaskArriveAndAreCheckedOneByOne) {
  const NodeTaskOptions node = Parse({"--graph", "g", "--task-kind", "multi-label", "--metric",
                                      "macro-f1,roc-auc", "--class-weights", "1,0.5"})
                                   .options.tasks.node;
  EXPECT_EQ(node.kind, NodeTaskKind::kMultiLabel);
  EXPECT_THAT(node.metrics, ElementsAre("macro-f1", "roc-auc"));
  EXPECT_EQ(node.class_weights.rule, ClassWeights::Rule::kGiven);
  EXPECT_THAT(node.class_weights.given, ElementsAre(1, 0.5));
  EXPECT_FALSE(Parse({"--graph", "g"}).options.tasks.node.kind.has_value());
  EXPECT_THAT(Refusal({"--graph", "g", "--task-kind", "ranking"}), HasSubstr("regression"));
  EXPECT_THAT(Refusal({"--graph", "g", "--metric", "mae,mae"}), HasSubstr("'mae' is named twice"));
  EXPECT_THAT(Refusal({"--graph", "g", "--metric", "f1"}), HasSubstr("macro-f1"));
  EXPECT_THAT(Refusal({"--graph", "g", "--class-weights", "1,0"}),
              AllOf(HasSubstr("--class-weights: '0' is no weight"), HasSubstr("above 0")));
  const Json shared = SharedFacts(Parse({"--graph", "g", "--class-weights", "balanced"}).options);
  EXPECT_EQ(shared["class_weights"], "balanced");
  EXPECT_EQ(shared["task_kind"], "auto");
  EXPECT_TRUE(shared.contains("metric"));
}

}  // namespace
}  // namespace halograph
