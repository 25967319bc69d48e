// Calls by method name with bytes in and out: what generated stubs cannot send. Test use; one
// thread a call.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

namespace halograph::server {

struct RawReply {
  grpc::Status status;
  std::string bytes;
  std::map<std::string, std::string> trailers;
};

// `method`: "/halograph.v1.KVService/Pull". Within a minute.
[[nodiscard]] RawReply RawCall(const std::shared_ptr<grpc::Channel>& channel,
                               const std::string& method, const std::string& request,
                               const std::multimap<std::string, std::string>& metadata = {});

// The first message that a bidirectional stream answers to `request`.
[[nodiscard]] RawReply RawStream(const std::shared_ptr<grpc::Channel>& channel,
                                 const std::string& method, const std::string& request);

[[nodiscard]] std::shared_ptr<grpc::Channel> Connect(const std::string& address);

}  // namespace halograph::server
