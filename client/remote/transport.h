// Single attempts at unary calls to a list of servers: the only place in client/ that touches
// gRPC. Payloads are plain bytes: callers bring their own serialisation, so that tensor rows never
// pass through a protobuf copy. Retries, deadlines of whole calls and cancelling live in rpc.h.
//
// Thread-safe but for ExpectGraph. Every attempt must have finished before the Transport is
// destroyed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/server_list.h"
#include "common/base/status.h"
#include "common/base/trace_context.h"
#include "proto/methods/methods.h"

namespace grpc {
class ChannelCredentials;
class ClientContext;
}  // namespace grpc

namespace halograph {

class ClientMetrics;
class TlsFiles;
class TokenFile;

// The bytes of one message as they arrived: consecutive pieces, cut anywhere, not aligned.
using ReplyPieces = std::span<const std::span<const std::byte>>;

struct TransportOptions {
  std::vector<ServerPlace> servers;
  int64_t max_message_bytes = 4194304;  // either way; a larger reply is ResourceExhausted
  int channels_per_server = 2;
  int rank = -1;  // metadata `halograph-rank` if >= 0
  // Metadata `authorization` of each attempt: "Bearer " and the token of the file, as it is then.
  // Empty: none. An attempt that would carry it unencrypted to another machine ends with
  // Unauthenticated, and one without a token that could be read with why; neither is sent.
  std::filesystem::path token_file = {};
  std::shared_ptr<const TlsFiles> tls = nullptr;  // null: plain
  // Told of each attempt; null: nobody. Outlives the transport.
  ClientMetrics* metrics = nullptr;
};

struct AttemptSpec {
  int server = 0;
  Method method = Method::kEnd;
  std::shared_ptr<const std::string> request;  // kept until gRPC has no use for it
  std::string_view request_id;                 // metadata `halograph-request-id`
  TraceContext trace;                          // metadata `traceparent` unless empty
  bool failed_over = false;                    // metadata `halograph-failed-over` if so
  std::chrono::steady_clock::time_point deadline;
};

struct AttemptResult {
  // Of the call, message as the server gave it, or as ExplainRefusal (proto/credentials); or what
  // the reply handler returned.
  Status status;
  std::optional<std::chrono::milliseconds> pushback;  // `grpc-retry-pushback-ms`
};

class Transport {
 public:
  class Attempt {
   public:
    virtual ~Attempt() = default;
    // Makes the attempt end soon with Cancelled, if it has not ended. Thread-safe.
    virtual void Cancel() = 0;
  };
  // Reads a reply; the pieces live until it returns. Called on a thread of gRPC: never blocks.
  using ReplyHandler = std::function<Status(ReplyPieces)>;
  // Called once, after the reply handler, on a thread of gRPC, maybe before Start returns.
  using DoneHandler = std::function<void(AttemptResult)>;

  // Connects lazily; never fails.
  explicit Transport(const TransportOptions& options);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // Attempts started from now on carry metadata `halograph-graph`: their server refuses them with
  // FailedPrecondition if it serves another graph. Requires printable ASCII, and that no Start
  // runs.
  void ExpectGraph(std::string identity) { graph_ = std::move(identity); }

  // Attempts that start from now on go there. Thread-safe beside Start.
  void Move(int server, const ServerPlace& place);

  // The attempt may be destroyed once `done` has been called, not before.
  [[nodiscard]] std::unique_ptr<Attempt> Start(const AttemptSpec& spec, ReplyHandler on_reply,
                                               DoneHandler done);

 private:
  struct Server;
  // Puts the token into an attempt's metadata, if there is one. Errors as TransportOptions say.
  [[nodiscard]] Status PutToken(const Status& may_have_token, grpc::ClientContext* context) const;

  const TransportOptions options_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;  // of all connections
  int rank_;
  ClientMetrics* metrics_;
  std::string graph_;                 // empty: not known yet
  std::unique_ptr<TokenFile> token_;  // null: none is sent
  Status token_status_;               // why there is none, if there should be one
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace halograph
