#include <utility>

#include "server/convert.h"
#include "server/raw_service.h"
#include "server/services.h"
#include "server/wire.h"

namespace halograph::server {
namespace {

// Of every group of a request.
template <typename Group>
Status CheckRelations(const std::vector<Group>& groups, Access* access) {
  if (groups.empty()) return access->ToAnything(Right::kSample);
  const std::string* checked = nullptr;
  for (const Group& group : groups) {
    if (checked != nullptr && *checked == group.relation) continue;
    HG_RETURN_IF_ERROR(access->ToRelation(Right::kSample, group.relation));
    checked = &group.relation;
  }
  return OkStatus();
}

class GraphCalls {
 public:
  GraphCalls(const ServiceContext& context, grpc::ByteBuffer description)
      : context_(context),
        description_(std::move(description)),
        sample_(context.graph.get(), context.max_message_bytes, context.counters),
        topology_(context.graph.get(), context.topology_files.get(), context.max_message_bytes),
        column_sums_(context.graph.get(), &columns_, context.max_message_bytes, context.counters),
        extract_(context.graph.get(), &columns_, context.max_message_bytes,
                 ExtractHandler::kEdgesAtOnce, context.counters) {}

  Status Describe(grpc::ByteBuffer* bytes, CallScope&, grpc::ByteBuffer* reply) const {
    HG_RETURN_IF_ERROR(CheckDescribeRequest(bytes));
    *reply = description_;  // shares the bytes
    return OkStatus();
  }

  Status Sample(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const LayerSampleRequest request, ParseSampleRequest(*bytes));
    HG_RETURN_IF_ERROR(CheckRelations(request.groups, &scope.access));
    HG_ASSIGN_OR_RETURN(const std::vector<LayerSamplePlan> plans, sample_.Plan(request));
    return WriteSampleReply(sample_, plans, scope.memory, reply);
  }

  Status ReadTaskSet(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    return AnswerReadTaskSet(context_, bytes, scope, reply);
  }

  Status ColumnSums(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const wire::ColumnSumsRequest request, ParseColumnSumsRequest(*bytes));
    HG_RETURN_IF_ERROR(CheckRelations(request.groups, &scope.access));
    HG_ASSIGN_OR_RETURN(const std::vector<ColumnSumsAnswer> answers,
                        column_sums_.Answer(request, scope.limits));
    return WriteColumnSumsReply(answers, scope.memory, reply);
  }

  Status Extract(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const wire::ExtractRequest request, ParseExtractRequest(*bytes));
    HG_RETURN_IF_ERROR(CheckRelations(request.groups, &scope.access));
    HG_ASSIGN_OR_RETURN(const std::vector<ExtractAnswer> answers,
                        extract_.Answer(request, scope.limits));
    return WriteExtractReply(answers, scope.memory, reply);
  }

  Status ReadTopology(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const TopologyRequest request, ParseTopologyRequest(bytes));
    // The manifest, and what is of node types, is for who may sample anything: it says no more of
    // relations than Describe.
    const std::string relation = RelationOfFile(context_.graph->schema(), request.path);
    HG_RETURN_IF_ERROR(relation.empty() ? scope.access.ToAnything(Right::kSample)
                                        : scope.access.ToRelation(Right::kSample, relation));
    HG_ASSIGN_OR_RETURN(const TopologyRange range, topology_.Read(request));
    *reply = WriteTopologyReply(range, context_.topology_files);
    return OkStatus();
  }

 private:
  const ServiceContext context_;
  const grpc::ByteBuffer description_;  // the same for every caller
  const SampleHandler sample_;
  const TopologyHandler topology_;
  ColumnWorkspaces columns_;
  const ColumnSumsHandler column_sums_;
  const ExtractHandler extract_;
};

constexpr auto kGraphHandlers = std::to_array<MethodHandler<GraphCalls>>({
    {Method::kDescribe, &GraphCalls::Describe},
    {Method::kSample, &GraphCalls::Sample},
    {Method::kGraphReadTaskSet, &GraphCalls::ReadTaskSet},
    {Method::kReadTopology, &GraphCalls::ReadTopology},
    {Method::kColumnSums, &GraphCalls::ColumnSums},
    {Method::kExtract, &GraphCalls::Extract},
});
static_assert(ServesEachOnce(kGraphService, kGraphHandlers),
              "each method of GraphService in the table needs a handler here, once");

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
  return MakeRawService(context.calls,
                        std::make_shared<const GraphCalls>(context, std::move(description)),
                        kGraphHandlers);
}

}  // namespace halograph::server
