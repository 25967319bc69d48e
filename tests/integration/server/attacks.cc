#include "tests/integration/server/attacks.h"

#include "common/base/sanitizers.h"
#include "proto/methods/methods.h"
#include "tests/integration/server/raw_http2.h"

namespace halograph::server {
namespace {

HeaderFields FieldsOf(Method method) { return CallFields(std::string(PathOf(method))); }

// Streams that are opened and reset at once; `whole`: their requests are whole by then.
std::string Resets(int round, bool whole, const HeaderFields& fields = FieldsOf(Method::kStats)) {
  constexpr int kStreams = 100;
  std::string bytes;
  for (int i = 0; i < kStreams; ++i) {
    const auto stream = static_cast<uint32_t>(1 + 2 * (round * kStreams + i));
    bytes += Frame(FrameKind::kHeaders, kEndHeaders, stream,
                   stream == 1 ? HeaderBlock(fields, true) : TableBlock(fields.size()));
    if (whole) bytes += Frame(FrameKind::kData, kEndStream, stream, std::string(5, '\0'));
    bytes += Frame(FrameKind::kReset, 0, stream, std::string("\0\0\0\x08", 4));  // cancelled
  }
  return bytes;
}
std::string WholeResets(int round) { return Resets(round, true); }
std::string EarlyResets(int round) { return Resets(round, false); }
// Of what our own table of methods does not have.
std::string HealthResets(int round) {
  return Resets(round, true, CallFields("/grpc.health.v1.Health/Check"));
}
std::string WatchResets(int round) {
  return Resets(round, true, CallFields("/grpc.health.v1.Health/Watch"));
}
std::string UnknownResets(int round) {
  return Resets(round, true, CallFields("/nosuch.Service/Method"));
}

// A header block that never ends.
std::string EndlessBlock(int round) {
  if (round == 0) return Frame(FrameKind::kHeaders, 0, 1, HeaderBlock(FieldsOf(Method::kStats)));
  static const std::string piece =
      Frame(FrameKind::kContinuation, 0, 1, HeaderBlock({{"x-a", std::string(16000, 'a')}}));
  return piece;
}

// The same, a byte a frame.
std::string EndlessDrops(int round) {
  if (round == 0) return EndlessBlock(0);
  static const std::string pieces = [] {
    std::string frames;
    for (const char byte : HeaderBlock({{"x-a", std::string(1000, 'a')}})) {
      frames += Frame(FrameKind::kContinuation, 0, 1, {&byte, 1});
    }
    return frames;
  }();
  return pieces;
}

// Requests of which the end never comes: as many as a connection may have, and what it may send of
// them at first.
std::string Unfinished(int round) {
  if (round > 0) return "";
  constexpr uint32_t kStreams = 250;
  constexpr size_t kSent = 240;  // of each: all together are a first window
  std::string bytes;
  for (uint32_t i = 0; i < kStreams; ++i) {
    bytes +=
        Frame(FrameKind::kHeaders, kEndHeaders, 1 + 2 * i, HeaderBlock(FieldsOf(Method::kPull)));
    bytes += Frame(FrameKind::kData, 0, 1 + 2 * i,
                   std::string("\0\0\x3f\xff\xff", 5) + std::string(kSent, 'x'));
  }
  return bytes;
}

// What wants an answer, or a look at the settings, and belongs to no call.
std::string Many(const std::string& frame) {
  constexpr int kFrames = 1000;
  std::string bytes;
  for (int i = 0; i < kFrames; ++i) bytes += frame;
  return bytes;
}
std::string Settings(int) {
  const std::string streams("\0\x3\0\0\0\x7", 6);  // that the client allows: 7
  return Many(Frame(FrameKind::kSettings, 0, 0, streams));
}

std::string Silence(int) { return ""; }

// What keeps a server busy, sent by 64, leaves nothing to others where a sanitizer slows it down.
constexpr bool kFast = !kSanitizerAllocator;

}  // namespace

std::string Pings(int) { return Many(Frame(FrameKind::kPing, 0, 0, std::string(8, 'x'))); }

const std::vector<Attack>& Attacks() {
  static const std::vector<Attack> attacks = {
      {.name = "WholeResets", .send = WholeResets, .is_shut = true, .from_many = kFast},
      {.name = "EarlyResets", .send = EarlyResets, .is_shut = true, .from_many = kFast},
      {.name = "HealthResets", .send = HealthResets, .is_shut = true, .from_many = kFast},
      {.name = "WatchResets", .send = WatchResets, .is_shut = true, .from_many = kFast},
      {.name = "UnknownResets", .send = UnknownResets, .is_shut = true, .from_many = kFast},
      {"EndlessBlock", EndlessBlock, true},
      {.name = "EndlessDrops", .send = EndlessDrops, .is_shut = false, .from_many = kFast},
      {"Unfinished", Unfinished, false},
      {.name = "Pings", .send = Pings, .is_shut = false, .from_many = false},
      {.name = "Settings", .send = Settings, .is_shut = true, .from_many = kFast},
      {"SilentAfterPreface", Silence, false},
      {"Silent", Silence, false, false},
  };
  return attacks;
}

}  // namespace halograph::server
