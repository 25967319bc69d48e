#include "server/open_streams.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include "common/storage/json.h"

namespace halograph::server {
namespace {

// Before a peer's name in that of its socket.
constexpr std::string_view kTransport = "chttp2 ";
// Of the list of a server's sockets, a hundred each: more than --connections allows.
constexpr int kMostPages = 20000;

// An answer of channelz; frees its text.
Json ToJson(char* text) {
  if (text == nullptr) return Json::object();
  Json json = Json::parse(text, nullptr, false);
  gpr_free(text);
  return json.is_object() ? json : Json::object();
}

const Json& At(const Json& object, std::string_view key) {
  static const Json none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

// A count is text, as protobuf's JSON has 64-bit integers; one that is 0 is left out.
int64_t NumberAt(const Json& object, std::string_view key) {
  const Json& value = At(object, key);
  int64_t number = 0;
  if (!value.is_string()) return 0;
  const auto& text = value.get_ref<const std::string&>();
  std::from_chars(text.data(), text.data() + text.size(), number);  // else 0
  return number;
}

int64_t OpenCalls(const Json& server) {
  const Json& data = At(server, "data");
  return NumberAt(data, "callsStarted") - NumberAt(data, "callsSucceeded") -
         NumberAt(data, "callsFailed");
}

int64_t StreamsOf(int64_t socket) {
  const Json answer = ToJson(grpc_channelz_get_socket(socket));
  const Json& data = At(At(answer, "socket"), "data");
  return NumberAt(data, "streamsStarted") - NumberAt(data, "streamsSucceeded") -
         NumberAt(data, "streamsFailed");
}

// Adds those of one server.
void AddStreams(int64_t server, StreamsOfPeers* streams) {
  int64_t next = 0;
  for (int page = 0; page < kMostPages; ++page) {
    const Json list = ToJson(grpc_channelz_get_server_sockets(server, next, 0));
    const Json& sockets = At(list, "socketRef");
    for (const Json& socket : sockets) {
      const int64_t id = NumberAt(socket, "socketId");
      next = id + 1;
      const Json& name = At(socket, "name");
      if (!name.is_string()) continue;
      const auto& text = name.get_ref<const std::string&>();
      if (text.starts_with(kTransport)) {
        (*streams)[text.substr(kTransport.size())] = StreamsOf(id);
      }
    }
    if (sockets.empty() || At(list, "end") == Json(true)) return;
  }
}

}  // namespace

StreamsOfPeers CountOpenStreams(int64_t known) {
  const Json answer = ToJson(grpc_channelz_get_servers(0));
  const Json& servers = At(answer, "server");
  int64_t calls = 0;
  for (const Json& server : servers) calls += OpenCalls(server);
  StreamsOfPeers streams;
  if (calls - known <= kFewCalls) return streams;
  for (const Json& server : servers) {
    AddStreams(NumberAt(At(server, "ref"), "serverId"), &streams);
  }
  return streams;
}

}  // namespace halograph::server
