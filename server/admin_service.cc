#include "server/raw_service.h"
#include "server/seen.h"
#include "server/services.h"
#include "server/stats_message.h"

namespace halograph::server {
namespace {

class AdminCalls {
 public:
  explicit AdminCalls(const ServiceContext& context) : context_(context) {}

  Status Stats(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const StatsQuestion question,
                        ParseStatsRequest(bytes, context_.max_message_bytes));
    ServerSnapshot snapshot = TakeSnapshot(context_, question.metrics);
    LeaveWhatIsSeen(scope.access, &snapshot);
    return WriteStatsReply(snapshot, question.max_bytes, scope.memory, reply);
  }

 private:
  const ServiceContext context_;
};

constexpr auto kAdminHandlers = std::to_array<MethodHandler<AdminCalls>>({
    {Method::kStats, &AdminCalls::Stats},
});
static_assert(ServesEachOnce(kAdminService, kAdminHandlers),
              "each method of AdminService in the table needs a handler here, once");

}  // namespace

ServerSnapshot TakeSnapshot(const ServiceContext& context, bool metrics) {
  const ServerParts& server = *context.figures;
  ServerSnapshot snapshot = TakeSnapshot(*context.graph, *server.stats, *server.dispatcher,
                                         server.clients->size(), context.states);
  AddFigures(server, metrics, &snapshot);
  return snapshot;
}

StatusOr<std::unique_ptr<grpc::Service>> MakeAdminService(const ServiceContext& context) {
  return MakeRawService(context.calls, std::make_shared<const AdminCalls>(context), kAdminHandlers);
}

}  // namespace halograph::server
