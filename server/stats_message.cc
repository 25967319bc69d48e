#include "server/stats_message.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "common/state/import_mark.h"
#include "halograph/v1/admin.pb.h"
#include "proto/methods/methods.h"
#include "proto/state/tensor_messages.h"
#include "server/messages.h"
#include "server/wire.h"

namespace halograph::server {
namespace {

double InSeconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

void ToProto(const FamilySnapshot& family, v1::Metric* out) {
  out->set_name(family.name);
  out->set_kind(static_cast<v1::MetricKind>(family.kind));
  out->set_unit(std::string(UnitName(family.unit)));
  out->set_help(family.help);
  if (!family.series.empty()) {
    const std::vector<double>& bounds = family.series.front().histogram.bounds;
    out->mutable_bounds()->Add(bounds.begin(), bounds.end());
  }
  for (const SeriesSnapshot& series : family.series) {
    v1::Series* told = out->add_series();
    for (const auto& [name, value] : series.labels) {
      v1::Label* label = told->add_labels();
      label->set_name(name);
      label->set_value(value);
    }
    told->set_value(series.value);
    if (family.kind != MetricKind::kHistogram) continue;
    told->set_count(series.histogram.count);
    told->set_sum(series.histogram.sum);
    if (series.histogram.count == 0) continue;
    told->mutable_counts()->Add(series.histogram.counts.begin(), series.histogram.counts.end());
  }
}

void ToProto(const SlowCall& call, v1::SlowCall* out) {
  out->set_unix_seconds(call.unix_seconds);
  out->set_method(call.method);
  out->set_host(call.host);
  out->set_rank(call.rank);
  out->set_request_id(call.request_id);
  out->set_trace_id(call.trace_id);
  out->set_principal(call.principal);
  out->set_status(call.status);
  out->set_answering_seconds(InSeconds(call.answering));
  out->set_sending_seconds(InSeconds(call.sending));
  out->set_request_bytes(call.request_bytes);
  out->set_reply_bytes(call.reply_bytes);
}

void ToProto(const ClientTable::Client& client, ClientTable::Clock::time_point now,
             v1::ClientStats* out) {
  out->set_host(client.host);
  out->set_rank(client.rank);
  out->set_calls(client.calls);
  out->set_errors(client.errors);
  out->set_sent_bytes(client.sent_bytes);
  out->set_in_flight(client.in_flight);
  out->set_silent_seconds(InSeconds(now - client.last));
  out->set_known_seconds(InSeconds(now - client.first));
}

void ToProto(Method method, const MethodSnapshot& stats, v1::MethodStats* out) {
  out->set_method(std::string(MethodName(method)));
  out->set_calls(stats.calls());
  out->set_errors(stats.errors);
  out->set_in_flight(stats.in_flight);
  out->set_request_bytes(stats.request_bytes);
  out->set_reply_bytes(stats.reply_bytes);
  const std::vector<double>& bounds = stats.seconds.bounds;
  for (size_t b = 0; b < stats.seconds.counts.size(); ++b) {
    v1::Bucket* bucket = out->add_latency();
    bucket->set_upper_seconds(b < bounds.size() ? bounds[b]
                                                : std::numeric_limits<double>::infinity());
    bucket->set_count(stats.seconds.counts[b]);
  }
  out->set_p50_seconds(stats.seconds.Quantile(0.5));
  out->set_p99_seconds(stats.seconds.Quantile(0.99));
}

// What a server tells of its own process beside its calls.
void AddFigures(const ServerSnapshot& snapshot, v1::StatsReply* reply) {
  const auto now = ClientTable::Clock::now();
  for (const FamilySnapshot& family : snapshot.metrics.families) {
    ToProto(family, reply->add_metrics());
  }
  for (const SlowCall& call : snapshot.slow_calls) ToProto(call, reply->add_slow_calls());
  for (const ClientTable::Client& client : snapshot.latest_clients) {
    ToProto(client, now, reply->add_client_list());
  }
  reply->set_unix_seconds(snapshot.unix_seconds);
  reply->set_phase(snapshot.draining ? "draining" : "serving");
  reply->set_address(snapshot.address);
  reply->set_pid(snapshot.pid);
  reply->set_host_name(snapshot.host_name);
  reply->set_request_memory_bytes(snapshot.request_memory_bytes);
  reply->set_request_memory_limit_bytes(snapshot.request_memory_limit_bytes);
  reply->set_reply_memory_bytes(snapshot.reply_memory_bytes);
  reply->set_reply_memory_limit_bytes(snapshot.reply_memory_limit_bytes);
}

// A tensor in a part's list, with its tag and length.
size_t TensorBytes(const v1::TensorState& tensor) {
  const size_t bytes = tensor.ByteSizeLong();
  return bytes + (bytes < (1 << 7) ? 2 : bytes < (1 << 14) ? 3 : 4);
}

int64_t CountTensors(const v1::StatsReply& reply) {
  int64_t tensors = 0;
  for (const v1::PartState& part : reply.state()) tensors += part.tensors_size();
  return tensors;
}

bool IsMark(const v1::TensorState& tensor) {
  return IsImportMark({tensor.spec().edge(), tensor.spec().type(), tensor.spec().name()});
}

// In their order.
template <typename Message>
void KeepOnly(const std::vector<bool>& stays, google::protobuf::RepeatedPtrField<Message>* list) {
  int kept = 0;
  for (int i = 0; i < list->size(); ++i) {
    if (!stays[static_cast<size_t>(i)]) continue;
    if (kept != i) list->SwapElements(kept, i);
    ++kept;
  }
  list->DeleteSubrange(kept, list->size() - kept);
}

v1::StatsReply ToMessage(const ServerSnapshot& snapshot) {
  v1::StatsReply reply;
  reply.set_identity(snapshot.identity);
  reply.set_graph_name(snapshot.graph_name);
  reply.set_build_version(snapshot.build_version);
  for (const int part : snapshot.parts) reply.add_parts(static_cast<uint32_t>(part));
  reply.set_serving(snapshot.serving);
  reply.set_uptime_seconds(snapshot.uptime_seconds);
  reply.set_pool_threads(snapshot.pool_threads);
  reply.set_pool_queued(snapshot.pool_queued);
  reply.set_pool_queue_capacity(snapshot.pool_queue_capacity);
  reply.set_state_threads(snapshot.state_threads);
  reply.set_state_queued(snapshot.state_queued);
  reply.set_state_queue_capacity(snapshot.state_queue_capacity);
  reply.set_draining(snapshot.draining);
  reply.set_clients(snapshot.clients);
  reply.set_failovers(snapshot.failovers);
  reply.set_recent_seconds(snapshot.recent.seconds);
  reply.set_num_parts(static_cast<uint32_t>(snapshot.num_parts));
  for (const auto& [part, state] : snapshot.state) ToProto(part, state, reply.add_state());
  for (size_t m = 0; m < kNumMethods; ++m) {
    ToProto(static_cast<Method>(m), snapshot.methods[m], reply.add_methods());
    ToProto(static_cast<Method>(m), snapshot.recent.methods[m], reply.add_recent());
  }
  AddFigures(snapshot, &reply);
  return reply;
}

// Takes away tensors until those that stay have `room` bytes, the last of each part's list first:
// the same share of each part's. Marks of imports stay as long as anything does: they tell of
// others.
void LeaveOutTensors(size_t room, v1::StatsReply* reply) {
  size_t bytes = 0;
  for (const v1::PartState& part : reply->state()) {
    for (const v1::TensorState& tensor : part.tensors()) bytes += TensorBytes(tensor);
  }
  if (bytes <= room) return;
  const double share = static_cast<double>(room) / static_cast<double>(bytes);
  const int64_t before = CountTensors(*reply);
  for (v1::PartState& part : *reply->mutable_state()) {
    size_t of_part = 0;
    for (const v1::TensorState& tensor : part.tensors()) of_part += TensorBytes(tensor);
    auto left = static_cast<int64_t>(static_cast<double>(of_part) * share);
    std::vector<bool> stays(static_cast<size_t>(part.tensors_size()), false);
    for (const bool marks : {true, false}) {
      for (int t = 0; t < part.tensors_size(); ++t) {
        if (IsMark(part.tensors(t)) != marks) continue;
        left -= static_cast<int64_t>(TensorBytes(part.tensors(t)));
        if (left < 0) break;
        stays[static_cast<size_t>(t)] = true;
      }
    }
    KeepOnly(stays, part.mutable_tensors());
  }
  reply->set_tensors_left_out(reply->tensors_left_out() + before - CountTensors(*reply));
}

// Tensors have what the rest leaves of `room`, but a quarter at least: metrics, however many, do
// not drive out the few that most states have.
void FitTensors(size_t room, v1::StatsReply* reply) {
  constexpr size_t kToCountThem = 16;  // bytes of tensors_left_out
  size_t tensors = 0;
  for (const v1::PartState& part : reply->state()) {
    for (const v1::TensorState& tensor : part.tensors()) tensors += TensorBytes(tensor);
  }
  const size_t bytes = reply->ByteSizeLong();
  if (bytes <= room) return;
  const size_t rest = bytes - std::min(bytes, tensors) + kToCountThem;
  LeaveOutTensors(std::max(room - std::min(room, rest), room / 4), reply);
}

// Takes away the largest metrics until the reply has `room` bytes, and says which.
void LeaveOutMetrics(size_t room, v1::StatsReply* reply) {
  constexpr int kMostNamed = 16;
  std::vector<std::pair<size_t, int>> by_size;  // of each metric, and where it is
  for (int m = 0; m < reply->metrics_size(); ++m) {
    by_size.emplace_back(reply->metrics(m).ByteSizeLong(), m);
  }
  std::sort(by_size.rbegin(), by_size.rend());
  std::vector<bool> left_out(by_size.size(), false);
  size_t bytes = reply->ByteSizeLong();
  int named = 0, more = 0;
  for (const auto& [size, m] : by_size) {
    if (bytes <= room) break;
    bytes -= size;
    left_out[static_cast<size_t>(m)] = true;
    if (++named > kMostNamed) {
      ++more;
      continue;
    }
    const v1::Metric& metric = reply->metrics(m);
    reply->add_left_out(fmt::format("metric {} ({} series)", metric.name(), metric.series_size()));
  }
  if (more > 0) reply->add_left_out(fmt::format("{} more metrics", more));
  left_out.flip();
  KeepOnly(left_out, reply->mutable_metrics());
}

// A list of the reply.
struct ToldList {
  std::string name;  // with how long it is
  size_t bytes = 0;
  std::function<void()> clear;
};

template <typename Message>
ToldList ListOf(std::string_view what, google::protobuf::RepeatedPtrField<Message>* list) {
  size_t bytes = 0;
  for (const Message& message : *list) bytes += message.ByteSizeLong();
  return {.name = fmt::format("{} ({})", what, list->size()), .bytes = bytes, .clear = [list] {
            list->Clear();
          }};
}

// Takes away the largest lists until the reply without its metrics has `room` bytes; that of the
// parts last, which has lost tensors for the others already. Their names.
std::vector<std::string> LeaveOutLists(size_t room, v1::StatsReply* reply) {
  std::array lists = {ListOf("clients", reply->mutable_client_list()),
                      ListOf("slow calls", reply->mutable_slow_calls()),
                      ListOf("methods of the last minute", reply->mutable_recent()),
                      ListOf("state of parts", reply->mutable_state())};
  std::stable_sort(lists.begin(), lists.end() - 1,
                   [](const ToldList& a, const ToldList& b) { return a.bytes > b.bytes; });
  std::vector<std::string> names;
  for (ToldList& list : lists) {
    size_t metrics = 0;
    for (const v1::Metric& metric : reply->metrics()) metrics += metric.ByteSizeLong();
    if (reply->ByteSizeLong() - metrics <= room) break;
    if (list.bytes == 0) continue;
    list.clear();
    names.push_back(std::move(list.name));
  }
  return names;
}

// Leaves out what does not fit, the largest first: of lists only what would not fit without metrics
// either, then of metrics.
Status Fit(int64_t max_bytes, v1::StatsReply* reply) {
  constexpr int64_t kToSayIt = 4096;  // bytes of left_out
  if (static_cast<int64_t>(reply->ByteSizeLong()) <= max_bytes) return OkStatus();
  const auto room = static_cast<size_t>(std::max<int64_t>(max_bytes - kToSayIt, 0));
  FitTensors(room, reply);
  const int64_t tensors = CountTensors(*reply);
  const std::vector<std::string> lists = LeaveOutLists(room, reply);
  reply->set_tensors_left_out(reply->tensors_left_out() + tensors - CountTensors(*reply));
  LeaveOutMetrics(room, reply);
  for (const std::string& list : lists) reply->add_left_out(list);
  const auto bytes = static_cast<int64_t>(reply->ByteSizeLong());
  if (bytes <= max_bytes) return OkStatus();
  return ResourceExhausted(
      "statistics of {} bytes do not fit into a message of {}: start the server with a larger "
      "--max-message-bytes",
      bytes, max_bytes);
}

StatusOr<Json> ToJson(const v1::StatsReply& reply) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(reply, &text, options);
  if (!printed.ok()) return Internal("the statistics are no JSON: {}", printed.ToString());
  Json status = Json::parse(text, nullptr, false);
  if (!status.is_object()) return Internal("the statistics are no JSON");
  status["program"] = "halograph-server";
  return status;
}

}  // namespace

StatusOr<StatsQuestion> ParseStatsRequest(grpc::ByteBuffer* bytes, int64_t max_message_bytes) {
  v1::StatsRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  const bool less = message.max_bytes() > 0 && message.max_bytes() < max_message_bytes;
  return StatsQuestion{.metrics = message.metrics(),
                       .max_bytes = less ? message.max_bytes() : max_message_bytes};
}

StatusOr<grpc::ByteBuffer> ToStatsReply(const ServerSnapshot& snapshot, int64_t max_bytes) {
  v1::StatsReply reply = ToMessage(snapshot);
  HG_RETURN_IF_ERROR(Fit(max_bytes, &reply));
  return Serialize(reply);
}

Status WriteStatsReply(const ServerSnapshot& snapshot, int64_t max_bytes, ReplyMemory& memory,
                       grpc::ByteBuffer* reply) {
  constexpr size_t kSmall = size_t{64} << 10;  // counts nowhere, and so is always told
  v1::StatsReply message = ToMessage(snapshot);
  HG_RETURN_IF_ERROR(Fit(max_bytes, &message));
  if (message.ByteSizeLong() > kSmall) {
    const Status written = WriteMessage(message, max_bytes, memory, reply);
    if (!absl::IsUnavailable(written)) return written;
    LeaveOutTensors(0, &message);
  }
  HG_ASSIGN_OR_RETURN(*reply, Serialize(message));
  return OkStatus();
}

StatusOr<Json> ToStatusJson(const ServerSnapshot& snapshot, int64_t max_bytes) {
  v1::StatsReply message = ToMessage(snapshot);
  LeaveOutTensors(static_cast<size_t>(max_bytes), &message);
  return ToJson(message);
}

StatusOr<Json> ReadStatsReply(std::string_view bytes) {
  constexpr size_t kMostMemory = size_t{16} << 20;  // as JSON it takes several times as much
  v1::StatsReply reply;
  if (!reply.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("what it answered is no StatsReply ({} bytes)", bytes.size());
  }
  if (reply.SpaceUsedLong() > kMostMemory) LeaveOutTensors(0, &reply);
  if (const size_t memory = reply.SpaceUsedLong(); memory > kMostMemory) {
    return ResourceExhausted("its figures take {} bytes, of {} at most", memory, kMostMemory);
  }
  return ToJson(reply);
}

}  // namespace halograph::server
