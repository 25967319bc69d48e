#include "trainer/options/option_marks.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/options/train_options.h"

namespace halograph {
namespace {

using testing::UnorderedElementsAre;

std::vector<std::string> Marked(OptionMarks marks) { return MarkedKeys(TrainOptions(), marks); }

TEST(OptionMarksTest, AreOnTheseOptions) {
  EXPECT_THAT(Marked(kMayDifferOnResume),
              UnorderedElementsAre("eval_every", "eval_every_steps", "predict", "predict_nodes",
                                   "predict_what", "embed_begin", "checkpoint", "resume",
                                   "patience", "min_delta", "tune"));
  EXPECT_THAT(Marked(kRunLength), UnorderedElementsAre("epochs", "max_steps"));
  EXPECT_THAT(
      Marked(kNotInherited),
      UnorderedElementsAre("world_size", "epochs", "max_steps", "eval_every", "eval_every_steps",
                           "patience", "min_delta", "tune", "average_every", "part_only", "resume",
                           "predict_nodes", "predict_what", "task", "model", "embed_begin"));
  EXPECT_THAT(Marked(kPartOfModel),
              UnorderedElementsAre("layers", "features", "normalize_features", "edge_weight",
                                   "task_kind", "embed", "embed_name"));
  EXPECT_THAT(
      Marked(kNotRepeated),
      UnorderedElementsAre("rank", "world_size", "logical_ranks", "master_addr", "master_port",
                           "job", "state_fall_back", "accept_loss", "device_cache_memory", "cache",
                           "cache_memory", "log", "predict", "tensorboard", "trace", "checkpoint",
                           "resume", "http_listen", "http_address_file", "http_token_file"));
  EXPECT_THAT(Marked(kOfOutput), UnorderedElementsAre("log", "predict", "http_listen",
                                                      "http_address_file", "http_token_file"));
  EXPECT_THAT(Marked(kOfPredictions),
              UnorderedElementsAre("predict", "predict_nodes", "predict_what"));
  EXPECT_THAT(Marked(kOfNeighbors),
              UnorderedElementsAre(
                  "layers", "sampler", "layer_nodes", "layer_probability", "layer_estimate",
                  "labor_shared", "saint_nodes", "saint_edges", "saint_roots", "walk_length",
                  "saint_coverage", "clusters_per_batch", "cluster_weights", "bulk", "fanouts",
                  "eval_fanouts", "sampling_weights", "edge_weight", "replace", "full_batch"));
}

// A mark on any other option would say nothing.
TEST(OptionMarksTest, ThoseOfCheckpointsAreOnWhatCheckpointsHave) {
  const Json shared = SharedFacts(TrainOptions());
  for (const std::string& key :
       Marked(kMayDifferOnResume | kRunLength | kNotInherited | kPartOfModel)) {
    EXPECT_TRUE(shared.contains(key)) << key;
  }
}

// What is kept where changes no bit: a run may go on with more or less of it.
TEST(OptionMarksTest, CheckpointsKnowNothingOfCaches) {
  const Json shared = SharedFacts(TrainOptions());
  for (const char* const key : {"cache", "cache_memory", "device_cache_memory"}) {
    EXPECT_FALSE(shared.contains(key)) << key;
  }
}

// Nor of which of several servers is asked, and in which form.
TEST(OptionMarksTest, CheckpointsKnowNothingOfColumns) {
  const Json shared = SharedFacts(TrainOptions());
  for (const char* const key : {"columns", "column_pulls", "plain_ids"}) {
    EXPECT_FALSE(shared.contains(key)) << key;
    EXPECT_TRUE(ToJson(TrainOptions()).contains(key)) << key;
  }
}

// For options to come.
TEST(OptionMarksTest, WhereRanksStandAndWhatARunWritesIsNotRepeated) {
  TrainOptions options;
  OptionTable rows;
  AddTrainRows(rows, &options);
  for (const auto& row : rows.rows()) {
    const bool file = row->value_name() == "FILE" || row->value_name() == "FOLDER";
    const bool written = file && (row->group() == "Output" || row->group() == "Checkpoints");
    if (row->group() == "Ranks" || written) {
      EXPECT_TRUE(row->marked(kNotRepeated)) << row->name();
    }
  }
}

}  // namespace
}  // namespace halograph
