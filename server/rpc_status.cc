#include "server/rpc_status.h"

#include <fmt/format.h>

namespace halograph::server {
namespace {

// gRPC takes 8 KiB of metadata by default, and triples what it must percent-encode.
constexpr size_t kMessageBytes = 1024;

}  // namespace

std::string Printable(std::string_view text, size_t limit) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const std::string shown =
        byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
    if (out.size() + shown.size() > limit) return out + "...";
    out += shown;
  }
  return out;
}

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // The two enumerations have the same values by definition (both are google.rpc.Code).
  return {static_cast<grpc::StatusCode>(status.raw_code()),
          Printable(Message(status), kMessageBytes)};
}

}  // namespace halograph::server
