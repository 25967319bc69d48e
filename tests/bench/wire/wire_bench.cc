// What reading a reply to sampling costs a client: the reader of proto/wire against generated code
// and the copy out of its message, in the same run, in turns.
//   wire_bench [ROUNDS]
// Replies of 4 MB with uniform sources, in pieces of 16 KiB, as they come from sockets, and whole.
// One JSON line for each fanout: CPU seconds of one thread for a GB of replies, medians.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/storage/json.h"
#include "halograph/v1/graph.pb.h"
#include "proto/wire/sample_reply.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"

namespace halograph {
namespace {

constexpr size_t kReplyBytes = size_t{4} << 20;
constexpr int64_t kNodes = 100'000'000;
constexpr int kRepliesARound = 20;

struct Reply {
  std::string bytes;
  size_t destinations = 0;
  int32_t fanout = 0;
};

Reply MakeReply(int32_t fanout) {
  CounterRng rng(Mix(static_cast<uint64_t>(fanout)));
  Reply reply;
  reply.fanout = fanout;
  reply.destinations = kReplyBytes / (1 + 4 * static_cast<size_t>(fanout));
  std::vector<uint32_t> counts(reply.destinations, static_cast<uint32_t>(fanout));
  const wire::SampleGroupShape shape{.counts = counts,
                                     .edges = static_cast<int64_t>(reply.destinations) * fanout};
  reply.bytes.resize(wire::SampleGroupReplyBytes(shape));
  std::byte* out =
      wire::PutSampleGroupReply(shape, reinterpret_cast<std::byte*>(reply.bytes.data())).sources;
  for (int64_t i = 0; i < shape.edges; ++i, out += sizeof(uint32_t)) {
    const auto source = static_cast<uint32_t>(rng.NextBounded(kNodes));
    std::memcpy(out, &source, sizeof(source));
  }
  return reply;
}

std::vector<std::span<const std::byte>> Cut(const std::string& message, size_t piece_bytes) {
  std::vector<std::span<const std::byte>> pieces;
  auto rest = std::as_bytes(std::span(message));
  while (!rest.empty()) {
    pieces.push_back(rest.first(std::min(piece_bytes, rest.size())));
    rest = rest.subspan(pieces.back().size());
  }
  return pieces;
}

// Both give the sum of the sources' number and the last of them, so that nothing is left out.
int64_t ReadByHand(const Reply& reply, wire::Pieces pieces) {
  const wire::SampleGroupExpected expected{.destinations = reply.destinations,
                                           .fanout = reply.fanout,
                                           .source_nodes = kNodes,
                                           .edges = kNodes};
  std::vector<wire::SampleGroupReply> groups;
  const Status status = wire::ReadSampleReply(pieces, std::span(&expected, 1), &groups);
  if (!status.ok()) return -1;
  return std::ssize(groups[0].sources) + groups[0].sources.back();
}

int64_t ReadByGeneratedCode(const Reply& reply, wire::Pieces pieces) {
  std::deque<google::protobuf::io::ArrayInputStream> streams;
  std::vector<google::protobuf::io::ZeroCopyInputStream*> pointers;
  for (const auto piece : pieces) {
    pointers.push_back(&streams.emplace_back(piece.data(), static_cast<int>(piece.size())));
  }
  google::protobuf::io::ConcatenatingInputStream whole(pointers.data(),
                                                       static_cast<int>(pointers.size()));
  v1::SampleReply message;
  if (!message.ParseFromZeroCopyStream(&whole)) return -1;
  const v1::SampleGroupReply& group = message.groups(0);
  int64_t total = 0;
  for (const uint32_t count : group.counts()) {
    if (count > static_cast<uint32_t>(reply.fanout)) return -1;
    total += count;
  }
  if (total != group.sources32_size()) return -1;
  const std::vector<uint32_t> counts(group.counts().begin(), group.counts().end());
  std::vector<int64_t> sources;
  sources.reserve(static_cast<size_t>(total));
  for (const uint64_t source : group.sources32()) {
    if (source >= static_cast<uint64_t>(kNodes)) return -1;
    sources.push_back(static_cast<int64_t>(source));
  }
  return std::ssize(sources) + sources.back();
}

// CPU seconds for a GB.
double Measure(int64_t (*read)(const Reply&, wire::Pieces), const Reply& reply, wire::Pieces pieces,
               int64_t expected) {
  const double begin = ThreadCpu();
  for (int i = 0; i < kRepliesARound; ++i) {
    if (read(reply, pieces) != expected) std::abort();
  }
  return (ThreadCpu() - begin) * 1e9 / (kRepliesARound * static_cast<double>(reply.bytes.size()));
}

void Run(int32_t fanout, size_t piece_bytes, int rounds) {
  const Reply reply = MakeReply(fanout);
  const auto pieces = Cut(reply.bytes, piece_bytes);
  const int64_t expected = ReadByGeneratedCode(reply, pieces);
  std::vector<double> hand;
  std::vector<double> generated;
  for (int round = 0; round < rounds; ++round) {
    hand.push_back(Measure(ReadByHand, reply, pieces, expected));
    generated.push_back(Measure(ReadByGeneratedCode, reply, pieces, expected));
  }
  const Json report = {{"bench", "wire"},
                       {"cpu", CpuModel()},
                       {"build", BuildVersion()},
                       {"fanout", fanout},
                       {"reply_bytes", reply.bytes.size()},
                       {"piece_bytes", piece_bytes},
                       {"rounds", rounds},
                       {"hand_cpu_s_per_gb", Median(hand)},
                       {"generated_cpu_s_per_gb", Median(generated)}};
  fmt::print("{}\n", report.dump());
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  const int rounds = argc == 2 ? std::atoi(argv[1]) : 15;
  if (argc > 2 || rounds < 1) {
    fmt::print(stderr, "usage: wire_bench [ROUNDS]\n");
    return 2;
  }
  for (const int32_t fanout : {5, 15, 200}) {
    for (const size_t piece_bytes : {size_t{16} << 10, size_t{8} << 20}) {
      halograph::Run(fanout, piece_bytes, rounds);
    }
  }
  return 0;
}
