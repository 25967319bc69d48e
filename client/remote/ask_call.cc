#include "client/remote/ask_call.h"

#include <memory>
#include <utility>

#include "client/remote/column_sums_call.h"
#include "client/remote/extract_call.h"
#include "client/remote/sample_layer_call.h"
#include "common/sampling/request.h"

namespace halograph {
namespace {

// The calls of one exchange.
class AskCalls {
 public:
  AskCalls(Cluster* cluster, const TopologyQuestions& questions)
      : draws_(cluster, questions.draws),
        sums_(cluster, questions.sums),
        edges_(cluster, questions.edges) {}

  [[nodiscard]] StatusOr<std::vector<Rpc>> Plan() {
    std::vector<Rpc> all;
    HG_RETURN_IF_ERROR(AddTo(draws_, &all));
    HG_RETURN_IF_ERROR(AddTo(sums_, &all));
    HG_RETURN_IF_ERROR(AddTo(edges_, &all));
    return all;
  }
  [[nodiscard]] Status Assemble(TopologyAnswers* answers) {
    draws_.Assemble(&answers->draws);
    edges_.Assemble(&answers->edges);
    return sums_.Assemble(&answers->sums);
  }
  [[nodiscard]] int64_t message_bytes() const {
    return draws_.message_bytes() + sums_.message_bytes() + edges_.message_bytes();
  }

 private:
  template <typename Calls>
  [[nodiscard]] static Status AddTo(Calls& calls, std::vector<Rpc>* all) {
    HG_RETURN_IF_ERROR(calls.Split());
    HG_ASSIGN_OR_RETURN(std::vector<Rpc> planned, calls.Plan());
    for (Rpc& rpc : planned) all->push_back(std::move(rpc));
    return OkStatus();
  }

  LayerCalls draws_;
  ColumnSumsCalls sums_;
  ExtractCalls edges_;
};

}  // namespace

void StartAskRemotely(Cluster* cluster, const TopologyQuestions& questions, CallContext& context,
                      TopologyAnswers* answers, StatusDone done) {
  const auto calls = std::make_shared<AskCalls>(cluster, questions);
  const auto groups = static_cast<int64_t>(questions.size());
  StatusOr<std::vector<Rpc>> first = CatchNoMemory(groups, "groups", [&] { return calls->Plan(); });
  if (!first.ok()) return done(first.status());
  const int64_t rounds = first->empty() ? 0 : kRoundsOfAnExchange;
  StatusDone answered = [=, &context, done = std::move(done)](Status status) {
    context.stats.remote_bytes += calls->message_bytes();
    if (status.ok()) {
      context.stats.rounds += rounds;
      status = CatchNoMemory(groups, "groups", [&] { return calls->Assemble(answers); });
    }
    done(std::move(status));
  };
  cluster->rpc().Start(context, *std::move(first), Posted(context, std::move(answered)));
}

}  // namespace halograph
