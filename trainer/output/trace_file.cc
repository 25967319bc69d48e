#include "trainer/output/trace_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "common/base/log.h"
#include "common/base/wall_clock.h"

namespace halograph {
namespace {

constexpr std::string_view kBetween = ",\n";
constexpr std::string_view kEnd = "\n]\n";
constexpr char kAdvice[] =
    "; make room, or give --trace a file that can be written, or leave the option out";

// Lines of the viewer whose events are of other categories stand below those of stages.
constexpr int kBelowStages = 1000;

Json MetaEvent(std::string_view name, int rank, int lane, Json args) {
  return {{"name", name}, {"ph", "M"}, {"pid", rank}, {"tid", lane}, {"args", std::move(args)}};
}

std::string TextOf(const Json& event) {
  return event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status WithAdvice(const Status& status) {
  return status.ok() ? status : MakeStatus(status.code(), Message(status) + kAdvice);
}

}  // namespace

TraceFile::TraceFile(RecordFile file, int rank)
    : rank_(rank),
      start_(Clock::now()),
      start_microseconds_(std::llround(SecondsSince1970() * 1e6)),
      file_(std::move(file)) {}

StatusOr<std::unique_ptr<TraceFile>> TraceFile::Create(const std::string& path, int rank) {
  auto file = RecordFile::Open("--trace", path, false);
  if (!file.ok()) return WithAdvice(file.status());
  if (!file->is_regular()) {
    return InvalidArgument("--trace {}: this is no regular file, as a trace has to be; name one",
                           path);
  }
  const Json name = MetaEvent("process_name", rank, 0, {{"name", fmt::format("rank {}", rank)}});
  HG_RETURN_IF_ERROR(WithAdvice(file->Append(fmt::format("[\n{}{}", TextOf(name), kEnd))));
  return std::unique_ptr<TraceFile>(new TraceFile(*std::move(file), rank));
}

TraceFile::~TraceFile() {
  const MutexLock lock(mutex_);
  if (!file_.is_open() || buffer_.empty()) return;
  if (const Status written = WriteOut(); !written.ok()) {
    spdlog::warn("rank {}: the end of the trace is lost: {}", rank_, ToString(written));
  }
}

void TraceFile::Add(const TraceEvent& event) {
  const MutexLock lock(mutex_);
  if (!file_.is_open()) return;
  const int64_t begin = Microseconds(event.begin);
  Put({{"name", event.name},
       {"cat", event.category},
       {"ph", "X"},
       {"ts", begin},
       {"dur", std::max<int64_t>(0, Microseconds(event.end) - begin)},
       {"pid", rank_},
       {"tid", LaneOf(event)},
       {"args", event.args}});
  if (buffer_.size() < kBufferBytes) return;
  const Status written = WriteOut();
  if (written.ok()) return;
  spdlog::warn("rank {}: the trace ends here, the run goes on: {}", rank_, ToString(written));
  file_ = RecordFile();
}

// Events come as they end: those of a lane ended before one that begins at its free_at or later. Of
// lanes that are free, the one whose last event ended last: others stay for events that began
// earlier, and come later.
int TraceFile::LaneOf(const TraceEvent& event) {
  auto found = tracks_.find(event.track);
  if (found == tracks_.end()) found = tracks_.emplace(event.track, std::vector<Lane>()).first;
  std::vector<Lane>& lanes = found->second;
  Lane* best = nullptr;
  for (Lane& lane : lanes) {
    if (lane.free_at > event.begin) continue;
    if (best == nullptr || lane.free_at > best->free_at) best = &lane;
  }
  if (best != nullptr) {
    best->free_at = event.end;
    return best->number;
  }
  lanes.push_back({++lanes_, event.end});
  const std::string name = lanes.size() == 1 ? std::string(event.track)
                                             : fmt::format("{} {}", event.track, lanes.size());
  const int below = event.category == "stage" ? 0 : kBelowStages;
  Put(MetaEvent("thread_name", rank_, lanes_, {{"name", name}}));
  Put(MetaEvent("thread_sort_index", rank_, lanes_, {{"sort_index", below + lanes_}}));
  return lanes_;
}

void TraceFile::Put(const Json& event) {
  buffer_ += kBetween;
  buffer_ += TextOf(event);
}

// Puts the buffer in the place of the array's end, and a new end behind it.
Status TraceFile::WriteOut() {
  HG_RETURN_IF_ERROR(file_.TakeBack(kEnd.size()));
  buffer_ += kEnd;
  Status written = file_.Append(buffer_);
  buffer_.clear();
  // The room that its end had is still there.
  if (!written.ok()) static_cast<void>(file_.Append(kEnd).ok());
  return written;
}

int64_t TraceFile::Microseconds(Clock::time_point when) const {
  const auto since = std::chrono::floor<std::chrono::microseconds>(when - start_);
  return start_microseconds_ + since.count();
}

}  // namespace halograph
