#include "trainer/device/host_image.h"

#include <utility>

namespace halograph {

HostImage::HostImage(const Device& device, int64_t in_front, int64_t count,
                     std::vector<Piece> pieces)
    : device_(device),
      compute_(device.Compute()),
      copying_(device.MakeQueue()),
      pieces_(std::move(pieces)),
      in_front_(in_front),
      host_(device.HostTensor({in_front + count}, torch::kFloat32).zero_()),
      there_(device.is_cpu() ? host_.narrow(0, in_front, count)
                             : torch::zeros({count}, device.torch())),
      copied_(pieces_.size()) {}

torch::Tensor HostImage::AtHome(size_t piece) const {
  return host_.narrow(0, in_front_ + pieces_[piece].begin, pieces_[piece].count);
}

torch::Tensor HostImage::There(size_t piece) const {
  return there_.narrow(0, pieces_[piece].begin, pieces_[piece].count);
}

void HostImage::BeginHome(size_t piece) {
  if (device_.is_cpu()) return;
  const torch::NoGradGuard no_grad;
  copying_.Await(compute_.Record());
  const Queue::Scope scope(copying_);
  AtHome(piece).copy_(There(piece), /*non_blocking=*/true);
  copied_[piece] = copying_.Record();
}

void HostImage::AwaitHome(size_t piece) const { copying_.Finish(copied_[piece]); }

void HostImage::BeginBack(size_t piece) {
  if (device_.is_cpu()) return;
  const torch::NoGradGuard no_grad;
  const Queue::Scope scope(copying_);
  There(piece).copy_(AtHome(piece), /*non_blocking=*/true);
  copied_[piece] = copying_.Record();
}

void HostImage::AwaitBack() {
  for (const Mark& mark : copied_) compute_.Await(mark);
}

}  // namespace halograph
