// A buffer on a device and its image in the host's memory, piece by piece: a piece goes to the host
// as soon as it is computed, while the device goes on, and comes back before what reads it there.
// On the CPU both are one, and every function returns at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trainer/device/device.h"

namespace halograph {

// Each piece by one thread at a time. Throws as libtorch does.
class HostImage {
 public:
  struct Piece {
    int64_t begin = 0;  // elements
    int64_t count = 0;
  };

  // Float32, of zeros. `in_front`: elements of the image alone, before the others.
  HostImage(const Device& device, int64_t in_front, int64_t count, std::vector<Piece> pieces);

  // [in_front + count], in the host's memory.
  [[nodiscard]] const torch::Tensor& host() const { return host_; }
  // [count], on the device; on the CPU a view of host().
  [[nodiscard]] const torch::Tensor& there() const { return there_; }

  // Begins to copy a piece to the host, behind all that the device has been given to compute, which
  // does not read or write it from then on until AwaitBack.
  void BeginHome(size_t piece);
  // Waits until it is there. Requires BeginHome.
  void AwaitHome(size_t piece) const;
  // Begins to copy it to the device. The host changes it no more until the next AwaitHome.
  void BeginBack(size_t piece);
  // What is computed from now on waits for all pieces that have begun to go back. By one thread,
  // while no other uses a piece.
  void AwaitBack();

 private:
  // Of the host's and the device's.
  [[nodiscard]] torch::Tensor AtHome(size_t piece) const;
  [[nodiscard]] torch::Tensor There(size_t piece) const;

  const Device device_;
  const Queue compute_, copying_;
  const std::vector<Piece> pieces_;
  const int64_t in_front_;
  torch::Tensor host_, there_;
  std::vector<Mark> copied_;  // of each piece, the last way that it went
};

}  // namespace halograph
