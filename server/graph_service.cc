#include <utility>

#include "halograph/v1/graph.grpc.pb.h"
#include "server/convert.h"
#include "server/services.h"
#include "server/wire.h"

namespace halograph::server {
namespace {

using GraphRpcs =
    v1::GraphService::WithRawCallbackMethod_Describe<v1::GraphService::WithRawCallbackMethod_Sample<
        v1::GraphService::WithRawCallbackMethod_ReadTaskSet<
            v1::GraphService::WithRawCallbackMethod_ReadTopology<
                v1::GraphService::WithRawCallbackMethod_ColumnSums<
                    v1::GraphService::WithRawCallbackMethod_Extract<v1::GraphService::Service>>>>>>;

class GraphServiceImpl final : public GraphRpcs {
 public:
  GraphServiceImpl(const ServiceContext& context, grpc::ByteBuffer description)
      : context_(context),
        description_(std::move(description)),
        sample_(context.graph.get(), context.max_message_bytes),
        topology_(context.graph.get(), context.topology_files.get(), context.max_message_bytes),
        column_sums_(context.graph.get(), &columns_, context.max_message_bytes),
        extract_(context.graph.get(), &columns_, context.max_message_bytes) {}

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override {
    return StartCall(context_.calls, Method::kDescribe, Admission::kInline, context, request, reply,
                     [this](grpc::ByteBuffer* bytes, CallScope&, grpc::ByteBuffer* out) {
                       HG_RETURN_IF_ERROR(CheckDescribeRequest(bytes));
                       *out = description_;  // shares the bytes
                       return OkStatus();
                     });
  }

  grpc::ServerUnaryReactor* Sample(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override {
    return StartCall(context_.calls, Method::kSample, Admission::kWork, context, request, reply,
                     [this](grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* out) {
                       return DoSample(bytes, scope.memory, out);
                     });
  }

  grpc::ServerUnaryReactor* ReadTaskSet(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* reply) override {
    return StartCall(context_.calls, Method::kGraphReadTaskSet, Admission::kWork, context, request,
                     reply, [this](grpc::ByteBuffer* bytes, CallScope&, grpc::ByteBuffer* out) {
                       return AnswerReadTaskSet(context_, bytes, out);
                     });
  }

  grpc::ServerUnaryReactor* ReadTopology(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override {
    return StartCall(context_.calls, Method::kReadTopology, Admission::kWork, context, request,
                     reply, [this](grpc::ByteBuffer* bytes, CallScope&, grpc::ByteBuffer* out) {
                       return DoReadTopology(bytes, out);
                     });
  }

  grpc::ServerUnaryReactor* ColumnSums(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply) override {
    return StartCall(context_.calls, Method::kColumnSums, Admission::kWork, context, request, reply,
                     [this](grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* out) {
                       return DoColumnSums(bytes, scope, out);
                     });
  }

  grpc::ServerUnaryReactor* Extract(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* reply) override {
    return StartCall(context_.calls, Method::kExtract, Admission::kWork, context, request, reply,
                     [this](grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* out) {
                       return DoExtract(bytes, scope, out);
                     });
  }

 private:
  Status DoSample(grpc::ByteBuffer* bytes, ReplyMemory& memory, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const LayerSampleRequest request, ParseSampleRequest(*bytes));
    HG_ASSIGN_OR_RETURN(const std::vector<LayerSamplePlan> plans, sample_.Plan(request));
    return WriteSampleReply(sample_, plans, memory, reply);
  }

  Status DoColumnSums(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const wire::ColumnSumsRequest request, ParseColumnSumsRequest(*bytes));
    HG_ASSIGN_OR_RETURN(const std::vector<ColumnSumsAnswer> answers,
                        column_sums_.Answer(request, scope.limits));
    return WriteColumnSumsReply(answers, scope.memory, reply);
  }

  Status DoExtract(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const wire::ExtractRequest request, ParseExtractRequest(*bytes));
    HG_ASSIGN_OR_RETURN(const std::vector<ExtractAnswer> answers,
                        extract_.Answer(request, scope.limits));
    return WriteExtractReply(answers, scope.memory, reply);
  }

  Status DoReadTopology(grpc::ByteBuffer* bytes, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const TopologyRequest request, ParseTopologyRequest(bytes));
    HG_ASSIGN_OR_RETURN(const TopologyRange range, topology_.Read(request));
    *reply = WriteTopologyReply(range, context_.topology_files);
    return OkStatus();
  }

  const ServiceContext context_;
  const grpc::ByteBuffer description_;  // the same for every caller
  const SampleHandler sample_;
  const TopologyHandler topology_;
  ColumnWorkspaces columns_;
  const ColumnSumsHandler column_sums_;
  const ExtractHandler extract_;
};

}  // namespace

StatusOr<std::unique_ptr<grpc::Service>> MakeGraphService(const ServiceContext& context) {
  HG_ASSIGN_OR_RETURN(
      grpc::ByteBuffer description,
      ToDescribeReply(server::Describe(*context.graph, context.max_message_bytes, context.states)));
  if (static_cast<int64_t>(description.Length()) > context.max_message_bytes) {
    return ResourceExhausted(
        "the description of the graph takes {} bytes, a message at most {}: start the server with "
        "a larger --max-message-bytes",
        description.Length(), context.max_message_bytes);
  }
  return std::unique_ptr<grpc::Service>(new GraphServiceImpl(context, std::move(description)));
}

}  // namespace halograph::server
