// A client of the first version of the protocol against this server: the bytes that it sends, as
// they were encoded from the messages of that time, and its reading of the replies by the field
// numbers of that time. Neither changes when messages get fields.
#include <cstring>
#include <string_view>
#include <vector>

#include "common/graph/tensor_ref.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/request.h"
#include "tests/integration/server/server_fixture.h"

namespace halograph::server {
namespace {

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// batch_seed 99, layer 1: "paper:cites:paper", fanout 3, of 4, 0 and 2; "author:writes:paper", all
// in-edges, of 1.
constexpr std::string_view kSampleTwoGroups =
    "0963000000000000001001222f0a1170617065723a63697465733a706170657210061a180400000000000000"
    "000000000000000002000000000000002221"
    "0a13617574686f723a7772697465733a706170657210011a080100000000000000";
// batch_seed 7, with replacement: "paper:cites:paper", fanout 2, of 3.
constexpr std::string_view kSampleWithReplacement =
    "0907000000000000001801221f0a1170617065723a63697465733a706170657210041a080300000000000000";
// "paper" / "year" of 1, 0 and 1.
constexpr std::string_view kPullYears =
    "120570617065721a0479656172221801000000000000000000000000000000"
    "0100000000000000";
// "link_prediction", "train" of "paper:cites:paper", part 2, from row 1 on.
constexpr std::string_view kReadPairs =
    "0a0f6c696e6b5f70726564696374696f6e1205747261696e1a1170617065723a63697465733a70617065722002280"
    "1";
// 20 bytes of "manifest.json" of part 0, from 3 on.
constexpr std::string_view kReadManifest = "120d6d616e69666573742e6a736f6e18032014";

// The fields of a message, as far as the first client knows wire types: a number or bytes each.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {
    while (!rest_.empty()) {
      const uint64_t tag = Varint();
      Field& field = fields_.emplace_back();
      field.number = static_cast<int>(tag >> 3);
      if ((tag & 7) == 0) field.value = Varint();
      if ((tag & 7) == 1) field.bytes = Take(8);
      if ((tag & 7) == 2) field.bytes = Take(Varint());
      EXPECT_LE(tag & 7, 2U) << "in field " << field.number;
    }
  }

  // Of the field's last occurrence; 0 and empty if there is none.
  [[nodiscard]] uint64_t Number(int number) const {
    uint64_t value = 0;
    for (const Field& field : fields_) value = field.number == number ? field.value : value;
    return value;
  }
  [[nodiscard]] std::vector<std::string> All(int number) const {
    std::vector<std::string> all;
    for (const Field& field : fields_) {
      if (field.number == number) all.emplace_back(field.bytes);
    }
    return all;
  }
  [[nodiscard]] std::string Bytes(int number) const {
    const std::vector<std::string> all = All(number);
    return all.empty() ? "" : all.back();
  }
  // A packed field of varints.
  [[nodiscard]] std::vector<int64_t> Packed(int number) const {
    std::vector<int64_t> values;
    const std::string bytes = Bytes(number);
    Fields packed;
    packed.rest_ = bytes;
    while (!packed.rest_.empty()) values.push_back(static_cast<int64_t>(packed.Varint()));
    return values;
  }
  // The numbers of the fields that are there, in order.
  [[nodiscard]] std::vector<int> Numbers() const {
    std::vector<int> numbers;
    for (const Field& field : fields_) numbers.push_back(field.number);
    return numbers;
  }

 private:
  struct Field {
    int number = 0;
    uint64_t value = 0;
    std::string_view bytes;
  };

  Fields() = default;
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::string_view Take(size_t length) {
    EXPECT_LE(length, rest_.size());
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  std::vector<Field> fields_;
};

template <typename T>
std::vector<int64_t> ElementsOf(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

class FirstClientTest : public ServerTest {
 protected:
  void SetUp() override { Start(Options()); }

  std::string Call(const char* method, const std::string& request) {
    const RawReply reply = RawCall(channel_, method, request);
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    return reply.bytes;
  }
  std::string Replay(const char* method, std::string_view hex) {
    return Call(method, FromHex(hex));
  }

  // The group as the kernel draws it, against what the first client reads: counts in field 1,
  // sources of four bytes in field 2, and no other field.
  static void ExpectGroup(const std::string& group, const char* relation, const DrawRule& rule,
                          const std::vector<int64_t>& destinations, uint64_t batch_seed,
                          int layer) {
    const int index = local_->schema().RelationIndex(relation).value();
    const auto draws = MakeLayerDraws(
        local_->topology()[index], rule,
        LayerKey(batch_seed, layer, static_cast<int>(local_->schema().relations.size()), index));
    ASSERT_TRUE(draws.ok()) << draws.status();
    NeighborPicks picks;
    EXPECT_TRUE(SampleNeighbors(*draws, destinations, nullptr, &picks).done());
    ASSERT_GT(picks.size(), 0);
    std::vector<int64_t> counts;
    for (size_t i = 0; i < destinations.size(); ++i) {
      counts.push_back(picks.offsets[i + 1] - picks.offsets[i]);
    }
    const Fields fields(group);
    EXPECT_EQ(fields.Numbers(), (std::vector<int>{1, 2}));
    EXPECT_EQ(fields.Packed(1), counts);
    EXPECT_EQ(ElementsOf<uint32_t>(fields.Bytes(2)), picks.sources);
  }
};

TEST_F(FirstClientTest, ReadsTheDescription) {
  const std::string bytes = Call(kDescribe, "");
  const Fields description(bytes);
  EXPECT_EQ(description.Bytes(1), local_->identity());
  EXPECT_EQ(description.Number(2), static_cast<uint64_t>(kFormatVersion));
  EXPECT_EQ(description.Number(4), 1U);  // the contract of sampling
  EXPECT_EQ(description.Packed(7), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(description.Number(8), 4194304U);
  EXPECT_EQ(description.All(9), (std::vector<std::string>{"topology", "features", "tasks"}));
  const std::string schema_bytes = description.Bytes(5);
  const Fields schema(schema_bytes);
  EXPECT_EQ(schema.Bytes(1), "random-typed");
  const std::vector<std::string> relations = schema.All(3);
  ASSERT_EQ(relations.size(), local_->schema().relations.size());
  for (size_t r = 0; r < relations.size(); ++r) {
    const Fields relation(relations[r]);
    EXPECT_EQ(relation.Bytes(1) + ":" + relation.Bytes(2) + ":" + relation.Bytes(3),
              local_->schema().relations[r].triple());
    EXPECT_EQ(relation.Number(4), static_cast<uint64_t>(local_->schema().relations[r].count));
  }
  const std::string book_bytes = description.Bytes(6);
  const std::vector<std::string> nodes = Fields(book_bytes).All(1);
  ASSERT_EQ(nodes.size(), local_->schema().node_types.size());
  for (size_t t = 0; t < nodes.size(); ++t) {
    const auto boundaries = local_->book().NodeBoundaries(static_cast<int>(t));
    EXPECT_EQ(Fields(nodes[t]).Packed(1),
              std::vector<int64_t>(boundaries.begin(), boundaries.end()));
  }
}

TEST_F(FirstClientTest, Samples) {
  const std::string bytes = Replay(kSample, kSampleTwoGroups);
  const Fields reply(bytes);
  ASSERT_EQ(reply.Numbers(), (std::vector<int>{1, 1}));
  ExpectGroup(reply.All(1)[0], "paper:cites:paper", {.fanout = 3}, {4, 0, 2}, 99, 1);
  ExpectGroup(reply.All(1)[1], "author:writes:paper", {.fanout = -1}, {1}, 99, 1);
  const std::string replaced_bytes = Replay(kSample, kSampleWithReplacement);
  const Fields replaced(replaced_bytes);
  ASSERT_EQ(replaced.Numbers(), (std::vector<int>{1}));
  ExpectGroup(replaced.All(1)[0], "paper:cites:paper", {.fanout = 2, .replace = true}, {3}, 7, 0);
}

TEST_F(FirstClientTest, PullsRows) {
  const std::string bytes = Replay(kPull, kPullYears);
  const Fields reply(bytes);
  EXPECT_EQ(reply.Number(1), 8U);  // int64
  EXPECT_EQ(reply.Packed(2), (std::vector<int64_t>{3}));
  const ResolvedTensor tensor =
      ResolveTensor(local_->schema(), {.edge = false, .type = "paper", .name = "year"}).value();
  const TensorRows rows = RowsOf(*local_->Find(0), tensor);
  ASSERT_GE(rows.ids.end, 2);
  std::string expected;
  for (const size_t id : {1, 0, 1}) {
    expected.append(reinterpret_cast<const char*>(rows.bytes.data()) + id * 8, 8);
  }
  EXPECT_EQ(reply.Bytes(3), expected);
}

TEST_F(FirstClientTest, ReadsTaskSetsFromWhereAReplyWasCut) {
  const std::string bytes = Replay(kGraphReadTaskSet, kReadPairs);
  const Fields reply(bytes);
  const TaskSetIndex index =
      FindTaskSet(local_->schema(), "link_prediction", "train", "paper:cites:paper").value();
  const NpyArray& seeds = local_->Find(2)->TaskArray(index.task, index.set, 0);
  ASSERT_GT(seeds.rows(), 1);
  EXPECT_EQ(reply.Number(1), static_cast<uint64_t>(seeds.rows()));
  EXPECT_EQ(reply.Number(2), static_cast<uint64_t>(seeds.rows() - 1));
  const std::vector<std::string> arrays = reply.All(3);
  ASSERT_EQ(arrays.size(), 2U);
  const Fields array(arrays[0]);
  EXPECT_EQ(array.Bytes(1), "seeds");
  EXPECT_EQ(array.Number(2), 8U);
  EXPECT_EQ(array.Packed(3), (std::vector<int64_t>{seeds.rows() - 1, 2}));
  const auto data = seeds.data().subspan(16);
  EXPECT_EQ(array.Bytes(4), std::string(reinterpret_cast<const char*>(data.data()), data.size()));
}

TEST_F(FirstClientTest, ReadsTheTopologysFiles) {
  const std::string bytes = Replay(kReadTopology, kReadManifest);
  const Fields reply(bytes);
  const auto file = MappedFile::Open(graph_folder_ / "part-0000" / "manifest.json");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(reply.Number(1), file->bytes().size());
  EXPECT_EQ(reply.Bytes(2),
            std::string(reinterpret_cast<const char*>(file->bytes().data()) + 3, 20));
}

TEST_F(FirstClientTest, ReadsTheStatistics) {
  static_cast<void>(Call(kDescribe, ""));
  const std::string bytes = Call(kStats, "");
  const Fields stats(bytes);
  EXPECT_EQ(stats.Bytes(1), local_->identity());
  EXPECT_EQ(stats.Packed(4), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(stats.Bytes(5), "topology,features,tasks");
  std::vector<std::string> methods;
  for (const std::string& method : stats.All(11)) methods.push_back(Fields(method).Bytes(1));
  for (const char* name :
       {"GraphService/Describe", "GraphService/Sample", "GraphService/ReadTaskSet",
        "GraphService/ReadTopology", "GraphService/ColumnSums", "GraphService/Extract",
        "KVService/Pull", "AdminService/Stats"}) {
    EXPECT_EQ(std::count(methods.begin(), methods.end(), name), 1) << name;
  }
}

}  // namespace
}  // namespace halograph::server
