#include "halograph/v1/admin.grpc.pb.h"
#include "server/convert.h"
#include "server/services.h"

namespace halograph::server {
namespace {

using AdminRpcs = v1::AdminService::WithRawCallbackMethod_Stats<v1::AdminService::Service>;

class AdminServiceImpl final : public AdminRpcs {
 public:
  explicit AdminServiceImpl(const ServiceContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* Stats(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* reply) override {
    return StartCall(
        context_.calls, Method::kStats, Admission::kAlways, context, request, reply,
        [this](grpc::ByteBuffer* bytes, CallScope&, grpc::ByteBuffer* out) {
          HG_RETURN_IF_ERROR(CheckStatsRequest(bytes));
          HG_ASSIGN_OR_RETURN(
              *out, ToStatsReply(TakeSnapshot(*context_.graph, *context_.calls.stats,
                                              *context_.calls.dispatcher,
                                              context_.calls.log->clients(), context_.states)));
          return OkStatus();
        });
  }

 private:
  const ServiceContext context_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(const ServiceContext& context) {
  return std::make_unique<AdminServiceImpl>(context);
}

}  // namespace halograph::server
