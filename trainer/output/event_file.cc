#include "trainer/output/event_file.h"

#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/base/host_name.h"
#include "common/base/wall_clock.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <typename T>
void AppendFixed(T value, std::string* to) {
  static_assert(std::endian::native == std::endian::little);
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  to->append(bytes.data(), bytes.size());
}

void AppendVarint(uint64_t value, std::string* to) {
  for (; value >= 0x80; value >>= 7) to->push_back(static_cast<char>(value | 0x80));
  to->push_back(static_cast<char>(value));
}

void AppendKey(uint32_t field, WireType type, std::string* to) {
  AppendVarint(field << 3 | type, to);
}

void AppendBytes(uint32_t field, std::string_view bytes, std::string* to) {
  AppendKey(field, kBytes, to);
  AppendVarint(bytes.size(), to);
  to->append(bytes);
}

std::string EventAt(double time) {
  std::string event;
  AppendKey(1, kFixed64, &event);
  AppendFixed(time, &event);
  return event;
}

uint32_t MaskedCrc(std::string_view bytes) {
  constexpr uint32_t kMask = 0xA282EAD8;
  return std::rotr(Crc32c(bytes), 15) + kMask;
}

std::string TagOf(const std::string& key) {
  if (key == "loss") return "loss/train";
  if (key == "lr") return key;
  for (const std::string_view set : {"train", "valid", "test"}) {
    if (key == "train_seeds" || !key.starts_with(set) || key.size() <= set.size() + 1) continue;
    if (key[set.size()] == '_') return fmt::format("{}/{}", key.substr(set.size() + 1), set);
  }
  return "run/" + key;
}

// As TensorFlow names them: when, where, and by whom.
std::string NewName() {
  const std::string host = HostName();
  static int number = 0;
  return fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                     std::llround(std::floor(SecondsSince1970())),
                     host.empty() ? "localhost" : host, ::getpid(), number++);
}

}  // namespace

std::vector<Scalar> ScalarsOf(const Json& line) {
  std::vector<Scalar> scalars;
  for (const auto& [key, value] : line.items()) {
    if (!value.is_number() || key == "epoch" || key == "step" || key == "time") continue;
    const auto number = value.get<double>();
    if (std::isfinite(number)) scalars.push_back({TagOf(key), number});
  }
  return scalars;
}

std::string VersionEvent(double time) {
  std::string event = EventAt(time);
  AppendBytes(3, "brain.Event:2", &event);
  return event;
}

std::string ScalarEvent(double time, int64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    AppendBytes(1, scalar.tag, &value);
    AppendKey(2, kFixed32, &value);
    AppendFixed(static_cast<float>(scalar.value), &value);
    AppendBytes(1, value, &summary);
  }
  std::string event = EventAt(time);
  AppendKey(2, kVarint, &event);
  AppendVarint(static_cast<uint64_t>(step), &event);
  AppendBytes(5, summary, &event);
  return event;
}

std::string Record(std::string_view data) {
  std::string record;
  AppendFixed(uint64_t{data.size()}, &record);
  AppendFixed(MaskedCrc(record), &record);
  record.append(data);
  AppendFixed(MaskedCrc(data), &record);
  return record;
}

StatusOr<EventFile> EventFile::Create(const std::string& folder) {
  EventFile events;
  if (folder.empty()) return events;
  HG_RETURN_IF_ERROR(Annotate(MakeFolder(folder), "--tensorboard"));
  const std::string path = (std::filesystem::path(folder) / NewName()).string();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoStatus(errno, "creating", path);
  events.file_ = RecordFile(fd, path);
  HG_RETURN_IF_ERROR(events.file_.Append(Record(VersionEvent(SecondsSince1970()))));
  return events;
}

Status EventFile::Write(const Json& line) {
  if (!file_.is_open()) return OkStatus();
  return file_.Append(Record(
      ScalarEvent(line.value("time", 0.0), line.value("step", int64_t{0}), ScalarsOf(line))));
}

}  // namespace halograph
