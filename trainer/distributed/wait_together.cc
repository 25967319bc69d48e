#include "trainer/distributed/wait_together.h"

#include <algorithm>

namespace halograph {
namespace {

constexpr std::chrono::nanoseconds kMostBetweenMeetings = std::chrono::seconds(5);

}  // namespace

Status WaitTogether(Communicator& ranks, std::chrono::nanoseconds timeout, const WaitAWhile& done,
                    std::string_view what) {
  const auto between = std::min(timeout / 4, kMostBetweenMeetings);
  for (;;) {
    const bool waits = ranks.rank() == 0 && !done(between);
    torch::Tensor waiting = torch::full({1}, waits ? 1.0F : 0.0F);
    HG_RETURN_IF_ERROR(ranks.AllReduceSum(waiting, what));
    if (waiting.item<float>() == 0) return OkStatus();
  }
}

}  // namespace halograph
