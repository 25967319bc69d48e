// What one rank did when, as viewers of Chrome's traces read it (chrome://tracing,
// ui.perfetto.dev): an array of events, of which those with "ph": "X" say when something began
// ("ts") and how long it took ("dur"), in microseconds since 1970. "pid" is the rank, so that the
// files of several ranks can be shown together.
//
// The file is written as it goes, kBufferBytes at a time, and is a whole array after each time and
// when the object goes. What ends a process between (a second signal, say) costs the last events;
// in the midst of a write it leaves an array without its end, which the viewers read as well.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/storage/json.h"
#include "trainer/output/record_file.h"

namespace halograph {

struct TraceEvent {
  // The line on which it is shown, with others of this name; where events overlap there are
  // several: "gather", "gather 2". About as many as events were under way at a time.
  std::string_view track;
  std::string_view name;
  std::string_view category;
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  Json args = Json::object();
};

class TraceFile {
 public:
  static constexpr size_t kBufferBytes = size_t{64} << 10;

  // Begins the file anew.
  //   InvalidArgument     it is no regular file
  //   FailedPrecondition  another run is writing it; what is there stays
  //   else                as RecordFile::Open, and Append of a full disk; each says what to do
  [[nodiscard]] static StatusOr<std::unique_ptr<TraceFile>> Create(const std::string& path,
                                                                   int rank);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // When the file cannot be written any more, a warning says so once; it ends with what was written
  // before, and further events are dropped.
  void Add(const TraceEvent& event) HG_EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  // A line of the viewer.
  struct Lane {
    int number = 0;
    Clock::time_point free_at;  // the last end of its events
  };

  TraceFile(RecordFile file, int rank);
  // A free lane of the event's track; the viewer is told of a new one.
  [[nodiscard]] int LaneOf(const TraceEvent& event) HG_REQUIRES(mutex_);
  void Put(const Json& event) HG_REQUIRES(mutex_);
  [[nodiscard]] Status WriteOut() HG_REQUIRES(mutex_);
  [[nodiscard]] int64_t Microseconds(Clock::time_point when) const;

  const int rank_;
  const Clock::time_point start_;
  const int64_t start_microseconds_;  // since 1970
  Mutex mutex_;
  RecordFile file_ HG_GUARDED_BY(mutex_);  // not open: it could not be written
  std::string buffer_ HG_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<Lane>, std::less<>> tracks_ HG_GUARDED_BY(mutex_);
  int lanes_ HG_GUARDED_BY(mutex_) = 0;
};

}  // namespace halograph
