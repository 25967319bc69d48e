#include "partitioner/readers/reader.h"

#include "tests/unit/partitioner_readers/reader_fixture.h"

namespace halograph {
namespace {

class OpenDatasetTest : public ReaderFixture {};

TEST_F(OpenDatasetTest, MissingInputIsNotFound) {
  ExpectError(OpenDataset(folder_ / "nowhere", options_).status(), absl::StatusCode::kNotFound,
              {"nowhere"});
}

TEST_F(OpenDatasetTest, FolderOfNoFormatSaysWhatWasLookedFor) {
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"metadata.yaml", "raw/", "metadata.json"});
}

TEST_F(OpenDatasetTest, DglFolderIsUnimplemented) {
  WriteText("metadata.json", "{}");
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kUnimplemented,
              {"metadata.json", "not read yet"});
}

TEST_F(OpenDatasetTest, UnknownFormatIsNamed) {
  options_.format = "gml";
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"gml", "edgelist"});
}

TEST_F(OpenDatasetTest, OptionsOfOtherFormatsAreRefused) {
  WriteText("raw/x", "");
  options_.num_nodes = 3;
  ExpectError(OpenDataset(folder_, options_).status(), absl::StatusCode::kInvalidArgument,
              {"--num-nodes", "ogb"});
  WriteText("g.txt", "0 1\n");
  options_.num_nodes = -1;
  options_.task = "time";
  ExpectError(OpenDataset(folder_ / "g.txt", options_).status(), absl::StatusCode::kInvalidArgument,
              {"--task", "edgelist"});
}

TEST_F(OpenDatasetTest, MetadataFileStandsForItsFolder) {
  WriteText("metadata.yaml", "graph: {nodes: [{num: 2}], edges: [{format: csv, path: e.csv}]}\n");
  WriteText("e.csv", "0,1\n");
  const StatusOr<Dataset> dataset = OpenDataset(folder_ / "metadata.yaml", options_);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->format, "graphbolt");
}

TEST_F(OpenDatasetTest, OptionsRoundTripAsJson) {
  options_.format = "edgelist";
  options_.undirected = true;
  options_.self_loops = EdgePolicy::kDrop;
  options_.num_nodes = 7;
  options_.task = "t";
  const StatusOr<ReadOptions> back = ReadOptions::FromJson(options_.ToJson(), "x");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->ToJson(), options_.ToJson());
  EXPECT_EQ(back->self_loops, EdgePolicy::kDrop);
  EXPECT_EQ(back->duplicates, EdgePolicy::kKeep);
}

TEST_F(OpenDatasetTest, OptionsWithAWrongFieldNameIt) {
  for (const char* field :
       {"format", "undirected", "self_loops", "duplicates", "num_nodes", "task"}) {
    Json value = options_.ToJson();
    value[field] = Json::array();
    ExpectError(ReadOptions::FromJson(value, "manifest").status(), absl::StatusCode::kDataLoss,
                {"manifest", field});
    value.erase(field);
    ExpectError(ReadOptions::FromJson(value, "manifest").status(), absl::StatusCode::kDataLoss,
                {"manifest", field});
  }
}

}  // namespace
}  // namespace halograph
