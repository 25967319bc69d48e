// Scalars by step in the form that TensorBoard reads (--tensorboard DIR): a file of records, each
// an Event message of its event.proto with a Summary of simple values.
//
//   record   uint64 length | uint32 masked CRC-32C of these 8 bytes | data | uint32 masked CRC-32C
//            of data; little-endian. Masked: rotated right by 15 bits, plus 0xA282EAD8.
//   Event    1: double wall_time, 2: int64 step, 3: string file_version or 5: Summary
//   Summary  repeated 1: Value {1: string tag, 2: float simple_value}
// The first event has the version "brain.Event:2" and no scalars.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "trainer/output/record_file.h"

namespace halograph {

struct Scalar {
  std::string tag;  // "acc/valid": TensorBoard groups by what stands before the stroke
  double value = 0;
  bool operator==(const Scalar&) const = default;
};

// The numbers of a line of the log (LOG.md), without epoch, step and time: of sets as METRIC/SET
// (acc/valid, loss/train), lr, and all others as run/KEY. In the order of keys.
[[nodiscard]] std::vector<Scalar> ScalarsOf(const Json& line);

// The bytes of an event without scalars, and of one with them. `time`: seconds since 1970.
[[nodiscard]] std::string VersionEvent(double time);
[[nodiscard]] std::string ScalarEvent(double time, int64_t step, std::span<const Scalar> scalars);
// The record around them.
[[nodiscard]] std::string Record(std::string_view data);

// A new file of events. Not thread-safe.
class EventFile {
 public:
  // Nothing is written without a folder.
  EventFile() = default;
  // A file of a name that no other has, in `folder`, which is made if it is not there. Nothing if
  // `folder` is empty. Errors as ErrnoStatus, with the path.
  [[nodiscard]] static StatusOr<EventFile> Create(const std::string& folder);

  // Adds a line of the log, whose `step` and `time` say where it stands. Errors as
  // RecordFile::Append.
  [[nodiscard]] Status Write(const Json& line);

 private:
  RecordFile file_;
};

}  // namespace halograph
