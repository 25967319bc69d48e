// What the tests of readers share: a temporary folder each, and small files in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/storage/npy.h"
#include "partitioner/readers/reader.h"
#include "tests/support/test_folder.h"

namespace halograph {

class ReaderFixture : public testing::Test {
 protected:
  void SetUp() override {
    options_.scratch = folder_ / "scratch";
    std::filesystem::create_directories(options_.scratch);
  }

  void WriteText(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  template <typename T>
  void WriteArray(const std::string& name, const std::vector<T>& values, int64_t cols = 0) {
    std::filesystem::remove(folder_ / name);
    const Status status = WriteNpy<T>(folder_ / name, values, cols);
    ASSERT_TRUE(status.ok()) << status;
  }

  const TestFolder own_;
  const std::filesystem::path folder_ = own_.path();
  ReadOptions options_;
};

struct Edge {
  int64_t id = 0, source = 0, destination = 0;
  bool operator==(const Edge&) const = default;
};
inline void PrintTo(const Edge& edge, std::ostream* out) {
  *out << edge.id << ": " << edge.source << " -> " << edge.destination;
}

// All edges of one pass.
inline StatusOr<std::vector<Edge>> ReadEdges(const EdgeSource& source) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<EdgeCursor> cursor, source.Open());
  std::vector<Edge> edges;
  EdgeChunk chunk;
  while (true) {
    HG_ASSIGN_OR_RETURN(const bool more, cursor->Next(&chunk));
    if (!more) break;
    EXPECT_GT(chunk.size(), 0U);
    EXPECT_LE(chunk.size(), kEdgeChunk);
    for (size_t i = 0; i < chunk.size(); ++i) {
      edges.push_back({chunk.ids[i], chunk.sources[i], chunk.destinations[i]});
    }
  }
  EXPECT_EQ(chunk.size(), 0U);
  return edges;
}

// The code and part of the message of a failed status.
inline void ExpectError(const Status& status, absl::StatusCode code,
                        const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), code) << status;
  for (const std::string& part : parts) {
    EXPECT_THAT(Message(status), testing::HasSubstr(part));
  }
}

// Folder of the real graphs, or empty.
inline std::filesystem::path RealData() {
  const char* folder = std::getenv("HALOGRAPH_DATA");
  return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
}

}  // namespace halograph
