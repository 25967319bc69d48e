#include "trainer/training/device_cache.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "common/base/log.h"
#include "common/base/units.h"
#include "trainer/distributed/wait_together.h"
#include "trainer/pipeline/feature_pull.h"
#include "trainer/training/read_forecast.h"
#include "trainer/training/torch_error.h"

namespace halograph {
namespace {

// In the order of the numbers, which are not negative.
uint32_t KeyOf(float reads) { return std::bit_cast<uint32_t>(std::max(0.0F, reads)); }

// Calls visit(type, id, key) for all nodes whose rows can be kept.
template <typename Visit>
void ForEachNode(const NodeChances& reads, std::span<const int64_t> row_bytes, const Visit& visit) {
  for (size_t type = 0; type < reads.size(); ++type) {
    if (row_bytes[type] == 0) continue;
    for (size_t id = 0; id < reads[type].size(); ++id) visit(type, id, KeyOf(reads[type][id]));
  }
}

// Bytes of rows by 16 bits of their keys.
using Histogram = std::vector<int64_t>;
constexpr size_t kBins = size_t{1} << 16;

// The bin whose rows fit in part only, where those of higher bins are taken first: `room` is then
// what these leave. 0: all fit.
uint32_t CutOf(const Histogram& bytes, int64_t* room) {
  uint32_t bin = kBins - 1;
  while (bin > 0 && bytes[bin] <= *room) *room -= bytes[bin--];
  return bin;
}

// Of the rows of the least reads that there is room for; more of these there may be than fit.
// `room`: what those of more reads leave.
uint32_t LeastKey(const NodeChances& reads, std::span<const int64_t> row_bytes, int64_t* room) {
  Histogram bytes(kBins);
  ForEachNode(reads, row_bytes,
              [&](size_t type, size_t, uint32_t key) { bytes[key >> 16] += row_bytes[type]; });
  const uint32_t high = CutOf(bytes, room);
  bytes.assign(kBins, 0);
  ForEachNode(reads, row_bytes, [&](size_t type, size_t, uint32_t key) {
    if (key >> 16 == high) bytes[key & 0xffff] += row_bytes[type];
  });
  return high << 16 | CutOf(bytes, room);
}

std::vector<int64_t> RowBytes(const BatchRecipe& recipe, const Schema& schema) {
  std::vector<int64_t> bytes = ColumnsOf(recipe, schema.node_types.size());
  for (int64_t& of_type : bytes) of_type *= static_cast<int64_t>(sizeof(float));
  return bytes;
}

int64_t BytesOf(const NodesByType& nodes, std::span<const int64_t> row_bytes) {
  int64_t bytes = 0;
  for (size_t type = 0; type < nodes.size(); ++type) {
    bytes += std::ssize(nodes[type]) * row_bytes[type];
  }
  return bytes;
}

// What the option says, for messages.
std::string Asked(const Session& session) {
  return fmt::format("--device-cache-memory {}", FormatBytes(session.options.device_cache_memory));
}

// `bytes`: what the rows come to.
Status Fill(Session& session, const NodesByType& nodes, int64_t bytes, const CancelToken& cancel) {
  HG_RETURN_IF_ERROR(
      Annotate(CheckRoomOnDevice(session.device, bytes, session.device.Memory()), Asked(session)));
  const int rank = session.options.rank;
  try {
    HG_ASSIGN_OR_RETURN(session.device_rows,
                        DeviceRows::Fill(*session.copier, *session.train_maker, nodes,
                                         session.stores.graph->info().schema, &cancel));
    return OkStatus();
  } catch (const std::exception& error) {
    const Status failed = TorchError(rank, "copying rows that stay there", error);
    if (!absl::IsResourceExhausted(failed)) return failed;
    return ResourceExhausted(
        "rank {}: {}: the memory of {} ran out while rows of {} were copied there: give less, or "
        "leave it out ({})",
        rank, Asked(session), session.device.name(), FormatBytes(bytes), TorchMessage(error));
  }
}

// `counted`: how rows were ranked.
void SayWhatStays(const Session& session, std::span<const int64_t> row_bytes, bool counted) {
  const Schema& schema = session.stores.graph->info().schema;
  int64_t all = 0;
  for (size_t type = 0; type < row_bytes.size(); ++type) {
    all += row_bytes[type] > 0 ? schema.node_types[type].count : 0;
  }
  spdlog::info("rank {}: {} of {} rows of features stay on {}, {}: those that {}",
               session.options.rank, session.device_rows->rows(), all, session.device.name(),
               FormatBytes(session.device_rows->bytes()),
               counted ? "steps sampled for this read most often"
                       : "steps are most likely to read, by the graph");
}

Status OpenCache(Session& session, const CancelToken& cancel) {
  const TrainOptions& options = session.options;
  const GraphInfo& info = session.stores.graph->info();
  const BatchRecipe& recipe = session.train_maker->recipe();
  const std::vector<int64_t> row_bytes = RowBytes(recipe, info.schema);
  const int64_t largest = *std::max_element(row_bytes.begin(), row_bytes.end());
  if (largest == 0) {
    return FailedPrecondition(
        "{}: no features of nodes are read, whose rows it is for: leave it out", Asked(session));
  }
  const bool forecast = CanForecastReads(session);
  HG_ASSIGN_OR_RETURN(const ReadForecast reads,
                      forecast ? ForecastReads(session, cancel) : CountReads(session, cancel));
  if (reads.of_step.empty()) {
    spdlog::info("rank {}: no row of features stays on {}: the rank has no seeds to train on",
                 options.rank, session.device.name());
    return OkStatus();
  }
  const NodesByType nodes = ChooseRows(reads.of_step, row_bytes, options.device_cache_memory);
  const int64_t bytes = BytesOf(nodes, row_bytes);
  if (bytes == 0) {
    return InvalidArgument(
        "{}: there is no room for a row of features, which takes {}: give more, or leave it out",
        Asked(session), FormatBytes(largest));
  }
  HG_RETURN_IF_ERROR(Fill(session, nodes, bytes, cancel));
  SayWhatStays(session, row_bytes, !forecast);
  return OkStatus();
}

}  // namespace

NodesByType ChooseRows(const NodeChances& reads, std::span<const int64_t> row_bytes,
                       int64_t memory) {
  int64_t room = memory;
  const uint32_t least = LeastKey(reads, row_bytes, &room);
  NodesByType chosen(reads.size());
  ForEachNode(reads, row_bytes, [&](size_t type, size_t id, uint32_t key) {
    if (key < least || std::ssize(chosen[type]) == std::numeric_limits<int32_t>::max()) return;
    if (key == least) {
      if (room < row_bytes[type]) return;
      room -= row_bytes[type];
    }
    chosen[type].push_back(static_cast<int64_t>(id));
  });
  return chosen;
}

void LeaveOutHeld(const HeldRows& held, NodeChances* reads) {
  for (size_t type = 0; type < reads->size(); ++type) {
    std::vector<float>& of_type = (*reads)[type];
    for (size_t id = 0; id < of_type.size(); ++id) {
      if (held[type].SlotOf(static_cast<int64_t>(id)) >= 0) of_type[id] = 0;
    }
  }
}

Status CheckRoomOnDevice(const Device& device, int64_t bytes,
                         const std::optional<DeviceMemory>& memory) {
  if (!memory.has_value() || bytes <= memory->free) return OkStatus();
  return InvalidArgument(
      "its rows take {}, and {} has {} of its {} free: give less, or leave it out",
      FormatBytes(bytes), device.name(), FormatBytes(memory->free), FormatBytes(memory->total));
}

Status OpenDeviceCache(Session& session) {
  const TrainOptions& options = session.options;
  RankWork open;
  if (options.device_cache_memory > 0) {
    if (session.device.is_cpu()) {
      spdlog::warn("rank {}: {}: there is no device, and the CPU computes: no rows are kept",
                   options.rank, Asked(session));
    } else {
      open = [&](const CancelToken& cancel) { return OpenCache(session, cancel); };
    }
  }
  return WorkTogether(*session.ranks, &session.cancel, open,
                      "waiting for ranks to fill the memory of their devices");
}

}  // namespace halograph
