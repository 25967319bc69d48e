#include "trainer/distributed/wait_together.h"

#include <algorithm>
#include <future>

namespace halograph {
namespace {

// What is soon done is soon seen; what takes long costs no meetings.
constexpr std::chrono::nanoseconds kFirstMeeting = std::chrono::milliseconds(10);
constexpr std::chrono::nanoseconds kMostBetweenMeetings = std::chrono::seconds(5);

// Waits for so long at most. Whether this rank is done; an error ends the wait.
using DoneAWhile = std::function<StatusOr<bool>(std::chrono::nanoseconds at_most)>;

Status WaitForAll(Communicator& ranks, const DoneAWhile& done, std::string_view what) {
  const auto most = std::min(ranks.timeout() / 4, kMostBetweenMeetings);
  for (auto between = std::min(kFirstMeeting, most);; between = std::min(2 * between, most)) {
    HG_ASSIGN_OR_RETURN(const bool done_here, done(between));
    torch::Tensor waiting = torch::full({1}, done_here ? 0.0F : 1.0F);
    HG_RETURN_IF_ERROR(ranks.AllReduceSum(waiting, what));
    if (waiting.item<float>() == 0) return OkStatus();
  }
}

struct CancelAtEnd {
  CancelToken& token;
  ~CancelAtEnd() { token.Cancel(); }
};

}  // namespace

Status WaitTogether(Communicator& ranks, const WaitAWhile& done, std::string_view what) {
  const auto done_here = [&](std::chrono::nanoseconds at_most) -> StatusOr<bool> {
    return ranks.rank() != 0 || done(at_most);
  };
  return WaitForAll(ranks, done_here, what);
}

Status WorkTogether(Communicator& ranks, const CancelToken* cancel, const RankWork& work,
                    std::string_view what) {
  CancelToken ended;
  const CancelToken::Registration on_cancel(cancel, [&ended] { ended.Cancel(); });
  if (ranks.world_size() == 1) return work ? work(ended) : OkStatus();
  std::future<Status> working;  // whose end waits for the work
  const CancelAtEnd nobody_waits{ended};
  if (work) working = std::async(std::launch::async, [&] { return work(ended); });
  const auto done = [&](std::chrono::nanoseconds at_most) -> StatusOr<bool> {
    if (!working.valid()) return true;
    if (working.wait_for(at_most) != std::future_status::ready) return false;
    HG_RETURN_IF_ERROR(working.get());
    return true;
  };
  return WaitForAll(ranks, done, what);
}

}  // namespace halograph
