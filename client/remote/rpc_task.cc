#include "client/remote/rpc_task.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "common/base/units.h"

namespace halograph {

namespace {

std::string Seconds(std::chrono::nanoseconds duration) {
  return FormatSeconds(std::chrono::duration<double>(duration).count());
}

std::string WhyNot(const Status& error) {
  return absl::IsDeadlineExceeded(error) ? "no answer in its share of the time" : ToString(error);
}

// Of a server that gave up a wait. gRPC's own words say nothing.
bool SaysWhatItWaitedFor(const Status& error) {
  return absl::IsDeadlineExceeded(error) && Message(error) != kOutOfTime;
}

}  // namespace

void RpcTask::NoteError(const Status& error) {
  if (!replicated) return;
  std::erase_if(failed, [this](const auto& before) { return before.first == server; });
  failed.emplace_back(server, error);
}

const Status* RpcTask::Failed(int of) const {
  const auto found =
      std::find_if(failed.begin(), failed.end(), [of](const auto& one) { return one.first == of; });
  return found == failed.end() ? nullptr : &found->second;
}

RpcTask::Clock::time_point RpcTask::EndOfShare(const ServerHealth& health) const {
  if (!replicated || !repeatable()) return deadline;
  const auto others = std::count_if(rpc.servers.begin(), rpc.servers.end(), [&](int other) {
    const bool in_vain = std::find(asked.begin(), asked.end(), other) != asked.end();
    return other != server && !in_vain && !health.lost(other);
  });
  const Clock::time_point now = Clock::now();
  return others == 0 ? deadline : now + (deadline - now) / (others + 1);
}

std::string RpcTeller::WhyOfOthers(const RpcTask& task) const {
  std::vector<std::string> each;
  for (const auto& [server, error] : task.failed) {
    if (server == task.server) continue;
    each.push_back(fmt::format("{}: {}", client_.address(server), WhyNot(error)));
  }
  for (const int server : task.rpc.servers) {
    if (server == task.server || task.Failed(server) != nullptr) continue;
    each.push_back(client_.address(server) +
                   (health_.lost(server) ? ": lost before, and not asked" : ": not asked"));
  }
  return fmt::format("; other servers of {}: {}", task.rpc.serves, fmt::join(each, "; "));
}

Status RpcTeller::FinalError(const RpcTask& task, const Status& error) const {
  const std::string where =
      fmt::format("{}: {}", client_.address(task.server), MethodName(task.rpc.method));
  const bool tells_of_others =
      task.replicated && (!task.failed.empty() || absl::IsDeadlineExceeded(error));
  const std::string end = (tells_of_others ? WhyOfOthers(task) : "") +
                          (trace_id_.empty() ? fmt::format(" (request {})", task.request_id)
                                             : fmt::format(" (request {}, trace {})",
                                                           task.request_id, ToString(trace_id_)));
  if (!absl::IsDeadlineExceeded(error) && task.last_error != error) {
    return WithReason(MakeStatus(error.code(), fmt::format("{}: {}{}", where, Message(error), end)),
                      ReasonOf(error));
  }
  std::string text =
      fmt::format("{}: no {}answer within {}", where, task.rpc.continues ? "whole " : "",
                  Seconds(task.deadline - task.begin));
  for (const Status& said : {error, task.last_error}) {
    if (!SaysWhatItWaitedFor(said)) continue;
    text += ": " + Message(said);
    break;
  }
  const Status* last = task.replicated ? task.Failed(task.server) : &task.last_error;
  std::string reason;
  if (last != nullptr && !last->ok() && !absl::IsDeadlineExceeded(*last)) {
    reason = ReasonOf(*last);
    text += fmt::format("; last of {} attempts: {}", task.attempts, ToString(*last));
  }
  const bool all_silent = task.last_error.ok() || absl::IsDeadlineExceeded(task.last_error);
  return WithReason(
      MakeStatus(all_silent ? absl::StatusCode::kDeadlineExceeded : absl::StatusCode::kUnavailable,
                 text + end),
      reason);
}

std::string RpcTeller::Lost(const RpcTask& task, int next, const Status& error) const {
  const std::string then = next < 0 ? "none of its servers is left"
                                    : fmt::format("{} is asked from now on", client_.address(next));
  return fmt::format("{}: {}, {} is lost ({}: {}; request {})", task.rpc.serves, then,
                     client_.address(task.server), MethodName(task.rpc.method), WhyNot(error),
                     task.request_id);
}

std::string RpcTeller::Suspended(std::chrono::nanoseconds missed, int calls) {
  return fmt::format("this process did not run for {}: {} under way {} the whole of {} time again",
                     Seconds(missed), calls == 1 ? "the call" : fmt::format("{} calls", calls),
                     calls == 1 ? "has" : "have", calls == 1 ? "its" : "their");
}

std::string RpcTeller::Waiting(const RpcTask& task, RpcTask::Clock::time_point now) const {
  return fmt::format("waiting for {}: {} has taken {} of {} so far{}", client_.address(task.server),
                     MethodName(task.rpc.method), Seconds(now - task.begin),
                     Seconds(task.deadline - task.begin),
                     task.last_error.ok() ? "" : "; last error: " + ToString(task.last_error));
}

}  // namespace halograph
