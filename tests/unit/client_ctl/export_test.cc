// What export writes of a snapshot, from a store that sends rows in any order, several times, and
// that fails.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ctl/tensor_files.h"
#include "client/ctl/tensor_folder.h"
#include "common/base/sanitizers.h"
#include "common/state/row_layout.h"
#include "common/storage/file.h"
#include "common/storage/npy.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

constexpr size_t kRowsOfPage = 1000;

// Sends each row once and then every seventh again; row r has (r, generation, ...). Rows from
// `pushed` on do not come.
class SendingAdmin : public TensorAdmin {
 public:
  explicit SendingAdmin(int64_t pushed) : pushed_(pushed) {}

  void FailAt(int page) { fails_at_ = page; }

  Status Create(const MutableTensorSpec&, CallContext&) override { return NotAsked(); }
  Status Drop(const TensorRef&, CallContext&) override { return NotAsked(); }
  StatusOr<std::vector<MutableTensorState>> List(CallContext&) override { return NotAsked(); }
  Status Snapshot(const std::string&, std::optional<int64_t>, CallContext&) override {
    return NotAsked();
  }
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(CallContext&) override {
    return NotAsked();
  }
  Status DeleteSnapshot(const std::string&, CallContext&) override { return NotAsked(); }
  Status RestoreSnapshot(const std::string&, CallContext&) override { return NotAsked(); }
  [[nodiscard]] StatusOr<int64_t> ReadSnapshot(const std::string& /*name*/,
                                               const MutableTensorSpec& spec,
                                               const TakeImages& take,
                                               CallContext& /*context*/) override {
    int page = 0;
    for (const int64_t generation : {1, 2}) {
      const int64_t step = generation == 1 ? 1 : 7;
      std::vector<int64_t> ids;
      // Scattered: 3 is no divisor of the counts in these tests.
      for (int64_t i = 0; i < pushed_; ++i) {
        const int64_t row = (i * 3) % pushed_;
        if (row % step == 0) ids.push_back(row);
        if (ids.size() < kRowsOfPage && i + 1 < pushed_) continue;
        if (page++ == fails_at_) return DataLoss("checkpoint-00000001: a section is damaged");
        HG_RETURN_IF_ERROR(take(ids, ImagesOf(spec, ids, generation)));
        ids.clear();
      }
    }
    return int64_t{5};
  }

 private:
  static Status NotAsked() { return Internal("not asked"); }
  static std::vector<std::byte> ImagesOf(const MutableTensorSpec& spec,
                                         const std::vector<int64_t>& ids, int64_t generation) {
    const size_t bytes = RowLayout::Of(spec).image_bytes();
    std::vector<std::byte> images(ids.size() * bytes);
    for (size_t i = 0; i < ids.size(); ++i) {
      std::vector<float> image(bytes / sizeof(float), static_cast<float>(generation));
      image[0] = static_cast<float>(ids[i]);
      std::memcpy(images.data() + i * bytes, image.data(), bytes);
    }
    return images;
  }

  const int64_t pushed_;
  int fails_at_ = -1;
};

class ExportTest : public testing::Test {
 protected:
  static MutableTensorSpec Spec(int64_t rows, int64_t dim) {
    return {.ref = {false, "", "table"},
            .placement = Placement::kRange,
            .rows = rows,
            .dim = dim,
            .initializer = {.kind = Initializer::Kind::kConstant, .a = 0.5},
            .optimizer = {.kind = RowOptimizer::Kind::kAdagrad, .learning_rate = 0.1}};
  }
  [[nodiscard]] std::filesystem::path files() const { return folder_.path() / "files"; }
  [[nodiscard]] StatusOr<FileCounts> Export(std::shared_ptr<TensorAdmin> admin,
                                            const MutableTensorSpec& spec,
                                            size_t buffer_bytes) const {
    CallContext context;
    return ExportSnapshot({.admin = std::move(admin)}, "kept", {&spec, 1}, files(), context,
                          buffer_bytes);
  }
  [[nodiscard]] std::vector<float> Read(const std::string& file) const {
    const auto array = NpyArray::Open(files() / "tensor-0000" / file);
    EXPECT_TRUE(array.ok()) << ToString(array.status());
    const auto values = array->As<float>().value();
    return {values.begin(), values.end()};
  }

  const TestFolder folder_;
};

TEST_F(ExportTest, EachRowStandsInItsPlaceAndTheLastTimeCounts) {
  constexpr int64_t kRows = 5000;
  constexpr int64_t kPushed = 4000;
  const MutableTensorSpec spec = Spec(kRows, 2);
  const auto admin = std::make_shared<SendingAdmin>(kPushed);
  for (const size_t buffer_bytes : {1, 10'000, 1 << 20}) {
    const auto counts = Export(admin, spec, buffer_bytes);
    ASSERT_TRUE(counts.ok()) << ToString(counts.status());
    EXPECT_EQ(counts->rows, kRows);
    const std::vector<float> rows = Read("rows.npy");
    const std::vector<float> sums = Read("sum.npy");
    ASSERT_EQ(rows.size(), 2U * kRows);
    ASSERT_EQ(sums.size(), 2U * kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      const auto at = static_cast<size_t>(2 * row);
      const bool pushed = row < kPushed;
      const float generation = row % 7 == 0 ? 2 : 1;
      ASSERT_EQ(rows[at], pushed ? static_cast<float>(row) : 0.5F) << row;
      ASSERT_EQ(rows[at + 1], pushed ? generation : 0.5F) << row;
      ASSERT_EQ(sums[at], pushed ? generation : 0) << row;
    }
    std::filesystem::remove_all(files());
  }
}

TEST_F(ExportTest, DamageLeavesNothing) {
  const auto admin = std::make_shared<SendingAdmin>(4000);
  for (const int page : {0, 2, 4}) {  // of four and one
    admin->FailAt(page);
    EXPECT_EQ(Export(admin, Spec(4000, 2), 1).status().code(), absl::StatusCode::kDataLoss) << page;
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << page;
  }
}

// Whatever is changed, it is found before anything is asked of a store.
TEST_F(ExportTest, AByteThatIsFlippedAnywhereIsFoundAndItsFileNamed) {
  const auto admin = std::make_shared<SendingAdmin>(5);
  ASSERT_TRUE(Export(admin, Spec(7, 2), 1 << 20).ok());
  const auto whole = OpenExport(files());
  ASSERT_TRUE(whole.ok()) << ToString(whole.status());
  EXPECT_TRUE(whole->checked);
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(files())) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  EXPECT_EQ(paths.size(), 2U + 5) << "checksums of both folders, and what they are of";
  for (const std::filesystem::path& path : paths) {
    const std::string text = ReadTextFile(path).value();
    const std::string name = std::filesystem::relative(path, files()).string();
    constexpr char kFlips[] = {0x2a, 1, 0x40};  // the first makes a space of a line end
    for (size_t at = 0; at < text.size(); at += text[at] == '\n' ? 1 : 4) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(flipped[at] ^ kFlips[text[at] == '\n' ? 0 : at % 3]);
      std::ofstream(path, std::ios::binary) << flipped;
      const Status refused = OpenExport(files()).status();
      ASSERT_FALSE(refused.ok()) << name << " byte " << at;
      ASSERT_THAT(Message(refused), testing::HasSubstr(name)) << "byte " << at;
    }
    std::ofstream(path, std::ios::binary) << text;
  }
  ASSERT_TRUE(OpenExport(files()).ok());
}

TEST_F(ExportTest, ChecksumsThatAreMissingAreToldAndThoseOfASnapshotAreMissed) {
  ASSERT_TRUE(Export(std::make_shared<SendingAdmin>(5), Spec(7, 2), 1 << 20).ok());
  std::filesystem::remove(files() / "tensor-0000" / "checksums.json");
  const Status missed = OpenExport(files()).status();
  EXPECT_EQ(missed.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(missed), testing::HasSubstr("tensor-0000/checksums.json"));
  std::filesystem::remove(files() / "checksums.json");
  const auto old = OpenExport(files());  // as older versions wrote them
  ASSERT_TRUE(old.ok()) << ToString(old.status());
  EXPECT_FALSE(old->checked);
  EXPECT_EQ(old->tensors.size(), 1U);
  // Alone, a tensor's folder is whole.
  std::filesystem::remove_all(files());
  ASSERT_TRUE(Export(std::make_shared<SendingAdmin>(5), Spec(7, 2), 1 << 20).ok());
  EXPECT_TRUE(OpenExport(files() / "tensor-0000")->checked);
}

// KiB, of a line of /proc/self/status.
int64_t StatusLine(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stoll(line.substr(key.size()));
  }
  return -1;
}

TEST_F(ExportTest, MemoryDoesNotGrowWithTheTensor) {
  if (kSanitizerAllocator) GTEST_SKIP() << "the sanitizer's memory would count";
  constexpr int64_t kRows = 200'000;
  const MutableTensorSpec spec = Spec(kRows, 100);  // 160 MB with its state
  const auto admin = std::make_shared<SendingAdmin>(kRows / 2);
  { std::ofstream("/proc/self/clear_refs") << "5"; }  // the peak so far is forgotten
  const int64_t before = StatusLine("VmRSS:");
  const auto counts = Export(admin, spec, size_t{8} << 20);
  ASSERT_TRUE(counts.ok()) << ToString(counts.status());
  EXPECT_LT(StatusLine("VmHWM:") - before, 60 << 10);
}

}  // namespace
}  // namespace halograph
