// Where edges wait between being bucketed and being sorted: byte buckets that are appended to in
// any order, then each read front to back and dropped. In memory for graphs that fit, else in one
// scratch file, so that any number of buckets takes one descriptor. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "common/base/status.h"

namespace halograph {

using VisitBytes = std::function<Status(std::span<const std::byte>)>;

class BucketStore {
 public:
  virtual ~BucketStore() = default;
  // More buckets, empty ones; returns the number of the first.
  virtual size_t Add(size_t count) = 0;
  //   ResourceExhausted  disk full
  [[nodiscard]] virtual Status Append(size_t bucket, std::span<const std::byte> bytes) = 0;
  // Everything in the order it was appended, one piece each Append. A status other than OK ends
  // the reading and is returned.
  [[nodiscard]] virtual Status Read(size_t bucket, const VisitBytes& visit) = 0;
  // Says that a bucket will be read soon.
  virtual void ReadAhead(size_t bucket) = 0;
  // Gives back what the bucket takes; it is empty then.
  virtual void Drop(size_t bucket) = 0;
};

[[nodiscard]] std::unique_ptr<BucketStore> MakeMemoryBuckets();
// In a new file, which is removed with the store. Memory: 16 bytes an Append.
//   AlreadyExists, ResourceExhausted and what else creating a file reports
[[nodiscard]] StatusOr<std::unique_ptr<BucketStore>> MakeFileBuckets(
    const std::filesystem::path& path);

}  // namespace halograph
