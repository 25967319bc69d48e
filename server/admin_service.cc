#include "server/convert.h"
#include "server/raw_service.h"
#include "server/services.h"

namespace halograph::server {
namespace {

class AdminCalls {
 public:
  explicit AdminCalls(const ServiceContext& context) : context_(context) {}

  Status Stats(grpc::ByteBuffer* bytes, CallScope&, grpc::ByteBuffer* reply) const {
    HG_RETURN_IF_ERROR(CheckStatsRequest(bytes));
    HG_ASSIGN_OR_RETURN(
        *reply, ToStatsReply(TakeSnapshot(*context_.graph, *context_.calls.stats,
                                          *context_.calls.dispatcher, context_.calls.log->clients(),
                                          context_.states)));
    return OkStatus();
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

StatusOr<std::unique_ptr<grpc::Service>> MakeAdminService(const ServiceContext& context) {
  return MakeRawService(context.calls, std::make_shared<const AdminCalls>(context), kAdminHandlers);
}

}  // namespace halograph::server
