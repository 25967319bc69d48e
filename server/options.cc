#include "server/options.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include <fmt/format.h>

#include "common/base/host_port.h"

namespace halograph::server {
namespace {

constexpr int64_t kSmallestMessageBytes = 64 << 10;
constexpr int64_t kLargestMessageBytes = 1 << 30;  // gRPC counts in int
constexpr int64_t kRequestMemory = 16 << 20;
constexpr int64_t kReplyMemory = 48 << 20;
// Messages that the memory must hold at least: a buffer is up to twice its message.
constexpr int64_t kMessagesInMemory = 4;

template <typename T>
Status CheckRange(std::string_view option, T value, T smallest, T largest) {
  if (value >= smallest && value <= largest) return OkStatus();
  return InvalidArgument("{} {} is outside [{}, {}]", option, value, smallest, largest);
}

bool ParseNumber(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() &&
         text.front() != '-';
}

}  // namespace

Status ServerOptions::Validate() const {
  if (graph.empty()) return InvalidArgument("--graph is missing: name the partition folder");
  HG_ASSIGN_OR_RETURN([[maybe_unused]] const HostPort address, ParseHostPort(listen));
  HG_RETURN_IF_ERROR(CheckRange("--threads", threads, 0, 1024));
  HG_RETURN_IF_ERROR(CheckRange("--queue", queue, 1, 1 << 20));
  HG_RETURN_IF_ERROR(CheckRange("--max-message-bytes", max_message_bytes, kSmallestMessageBytes,
                                kLargestMessageBytes));
  const int64_t least = kMessagesInMemory * max_message_bytes;
  for (const auto& [name, value] :
       {std::pair{"--request-memory", request_memory}, {"--reply-memory", reply_memory}}) {
    if (value != 0 && value < least) {
      return InvalidArgument("{} {} is below {}: {} messages of --max-message-bytes {}", name,
                             value, least, kMessagesInMemory, max_message_bytes);
    }
  }
  const auto seconds = std::chrono::duration<double>(drain_timeout).count();
  return CheckRange("--drain-timeout", seconds, 0.0, 3600.0);
}

int ServerOptions::NumThreads() const {
  if (threads > 0) return threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int64_t ServerOptions::RequestMemory() const {
  if (request_memory > 0) return request_memory;
  return std::max(kRequestMemory, kMessagesInMemory * max_message_bytes);
}

int64_t ServerOptions::ReplyMemory() const {
  if (reply_memory > 0) return reply_memory;
  return std::max(kReplyMemory, kMessagesInMemory * max_message_bytes);
}

StatusOr<std::vector<int>> ParseParts(std::string_view text) {
  std::vector<int> parts;
  if (text == "all") return parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int part = 0;
    if (!ParseNumber(text.substr(begin, end - begin), &part)) {
      return InvalidArgument("--part '{}': give numbers of parts separated by commas, or all",
                             text);
    }
    if (std::find(parts.begin(), parts.end(), part) != parts.end()) {
      return InvalidArgument("--part '{}': part {} is listed twice", text, part);
    }
    parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

StatusOr<PartContents> ParseServe(std::string_view text) {
  if (text == "all") return PartContents{};
  if (text == "features") return PartContents{.topology = false};
  return InvalidArgument("--serve '{}' is unknown: use all or features", text);
}

}  // namespace halograph::server
