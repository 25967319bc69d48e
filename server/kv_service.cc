#include "halograph/v1/kv.grpc.pb.h"
#include "server/convert.h"
#include "server/services.h"
#include "server/wire.h"

namespace halograph::server {
namespace {

using KvRpcs = v1::KVService::WithRawCallbackMethod_Pull<
    v1::KVService::WithRawCallbackMethod_ReadTaskSet<v1::KVService::Service>>;

class KvServiceImpl final : public KvRpcs {
 public:
  explicit KvServiceImpl(const ServiceContext& context)
      : context_(context), pull_(context.graph.get(), context.max_message_bytes) {}

  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override {
    return StartCall(context_.calls, Method::kPull, Admission::kPool, context, request, reply,
                     [this](grpc::ByteBuffer* bytes, ReplyMemory& memory, grpc::ByteBuffer* out) {
                       return DoPull(bytes, memory, out);
                     });
  }

  grpc::ServerUnaryReactor* ReadTaskSet(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* reply) override {
    return StartCall(context_.calls, Method::kReadTaskSet, Admission::kPool, context, request,
                     reply, [this](grpc::ByteBuffer* bytes, ReplyMemory&, grpc::ByteBuffer* out) {
                       return AnswerReadTaskSet(context_, bytes, out);
                     });
  }

 private:
  Status DoPull(grpc::ByteBuffer* bytes, ReplyMemory& memory, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const PullRequest request, ParsePullRequest(*bytes));
    HG_ASSIGN_OR_RETURN(const PullPlan plan, pull_.Plan(request));
    return WritePullReply(pull_, plan, request.ids, memory, reply);
  }

  const ServiceContext context_;
  const PullHandler pull_;
};

}  // namespace

Status AnswerReadTaskSet(const ServiceContext& context, grpc::ByteBuffer* request,
                         grpc::ByteBuffer* reply) {
  HG_ASSIGN_OR_RETURN(const TaskSetRequest asked, ParseTaskSetRequest(request));
  const TaskSetHandler handler(context.graph.get(), context.max_message_bytes);
  HG_ASSIGN_OR_RETURN(const TaskSetPage page, handler.Read(asked));
  *reply = WriteTaskSetReply(page, context.graph);
  return OkStatus();
}

std::unique_ptr<grpc::Service> MakeKvService(const ServiceContext& context) {
  return std::make_unique<KvServiceImpl>(context);
}

}  // namespace halograph::server
