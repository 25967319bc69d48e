// Compiled with the generated code, which it holds fields.h to.
#include "halograph/v1/graph.pb.h"
#include "halograph/v1/kv.pb.h"
#include "proto/wire/fields.h"

namespace halograph::wire {

#define HALOGRAPH_SAME(message, generated, name) \
  static_assert(message::k##name == v1::generated::k##name##FieldNumber)

HALOGRAPH_SAME(sample_request, SampleRequest, BatchSeed);
HALOGRAPH_SAME(sample_request, SampleRequest, Layer);
HALOGRAPH_SAME(sample_request, SampleRequest, Replace);
HALOGRAPH_SAME(sample_request, SampleRequest, Groups);
HALOGRAPH_SAME(sample_request, SampleRequest, Weight);
HALOGRAPH_SAME(sample_request, SampleRequest, EdgePieces);

HALOGRAPH_SAME(sample_group, SampleGroup, Relation);
HALOGRAPH_SAME(sample_group, SampleGroup, Fanout);
HALOGRAPH_SAME(sample_group, SampleGroup, Destinations);
HALOGRAPH_SAME(sample_group, SampleGroup, BatchSeed);
HALOGRAPH_SAME(sample_group, SampleGroup, Layer);
HALOGRAPH_SAME(sample_group, SampleGroup, Replace);
HALOGRAPH_SAME(sample_group, SampleGroup, Weight);
HALOGRAPH_SAME(sample_group, SampleGroup, EdgeIds);
HALOGRAPH_SAME(sample_group, SampleGroup, Weights);
HALOGRAPH_SAME(sample_group, SampleGroup, FirstEdge);
HALOGRAPH_SAME(sample_group, SampleGroup, MaxEdges);
HALOGRAPH_SAME(sample_group, SampleGroup, Rule);
HALOGRAPH_SAME(sample_group, SampleGroup, Degrees);

HALOGRAPH_SAME(sample_rule, SampleRule, Kind);
HALOGRAPH_SAME(sample_rule, SampleRule, Fanout);
HALOGRAPH_SAME(sample_rule, SampleRule, Replace);
HALOGRAPH_SAME(sample_rule, SampleRule, Weight);

HALOGRAPH_SAME(sample_reply, SampleReply, Groups);
HALOGRAPH_SAME(sample_group_reply, SampleGroupReply, Counts);
HALOGRAPH_SAME(sample_group_reply, SampleGroupReply, Sources32);
HALOGRAPH_SAME(sample_group_reply, SampleGroupReply, Sources64);
HALOGRAPH_SAME(sample_group_reply, SampleGroupReply, EdgeIds);
HALOGRAPH_SAME(sample_group_reply, SampleGroupReply, Weights);
HALOGRAPH_SAME(sample_group_reply, SampleGroupReply, MoreEdges);
HALOGRAPH_SAME(sample_group_reply, SampleGroupReply, Degrees);

HALOGRAPH_SAME(column_sums_request, ColumnSumsRequest, Groups);
HALOGRAPH_SAME(column_sums_request, ColumnSumsRequest, MaxBytes);
HALOGRAPH_SAME(column_sums_group, ColumnSumsGroup, Relation);
HALOGRAPH_SAME(column_sums_group, ColumnSumsGroup, Value);
HALOGRAPH_SAME(column_sums_group, ColumnSumsGroup, Destinations);
HALOGRAPH_SAME(column_sums_group, ColumnSumsGroup, Page);
HALOGRAPH_SAME(column_sums_group, ColumnSumsGroup, FromSource);
HALOGRAPH_SAME(column_sums_group, ColumnSumsGroup, SourceDeltas);
HALOGRAPH_SAME(column_page, ColumnSumsGroup_Page, Part);
HALOGRAPH_SAME(column_page, ColumnSumsGroup_Page, SourceBegin);
HALOGRAPH_SAME(column_page, ColumnSumsGroup_Page, SourceEnd);
HALOGRAPH_SAME(column_sums_reply, ColumnSumsReply, Groups);
HALOGRAPH_SAME(column_sums_group_reply, ColumnSumsGroupReply, Sources32);
HALOGRAPH_SAME(column_sums_group_reply, ColumnSumsGroupReply, Sources64);
HALOGRAPH_SAME(column_sums_group_reply, ColumnSumsGroupReply, Sums);
HALOGRAPH_SAME(column_sums_group_reply, ColumnSumsGroupReply, More);
HALOGRAPH_SAME(column_sums_group_reply, ColumnSumsGroupReply, SourceDeltas);

HALOGRAPH_SAME(extract_request, ExtractRequest, Groups);
HALOGRAPH_SAME(extract_request, ExtractRequest, MaxBytes);
HALOGRAPH_SAME(extract_group, ExtractGroup, Relation);
HALOGRAPH_SAME(extract_group, ExtractGroup, Destinations);
HALOGRAPH_SAME(extract_group, ExtractGroup, Columns);
HALOGRAPH_SAME(extract_group, ExtractGroup, EdgeIds);
HALOGRAPH_SAME(extract_group, ExtractGroup, DegreesOf);
HALOGRAPH_SAME(extract_group, ExtractGroup, ColumnDeltas);
HALOGRAPH_SAME(extract_reply, ExtractReply, Groups);
HALOGRAPH_SAME(extract_group_reply, ExtractGroupReply, Counts);
HALOGRAPH_SAME(extract_group_reply, ExtractGroupReply, Columns);
HALOGRAPH_SAME(extract_group_reply, ExtractGroupReply, EdgeIds);
HALOGRAPH_SAME(extract_group_reply, ExtractGroupReply, Degrees);
HALOGRAPH_SAME(extract_group_reply, ExtractGroupReply, OtherDegrees);

HALOGRAPH_SAME(pull_request, PullRequest, Edge);
HALOGRAPH_SAME(pull_request, PullRequest, Type);
HALOGRAPH_SAME(pull_request, PullRequest, Name);
HALOGRAPH_SAME(pull_request, PullRequest, Ids);
HALOGRAPH_SAME(pull_request, PullRequest, MinLsn);
static_assert(pull_reply::kDType == v1::PullReply::kDtypeFieldNumber);
HALOGRAPH_SAME(pull_reply, PullReply, Shape);
HALOGRAPH_SAME(pull_reply, PullReply, Rows);

HALOGRAPH_SAME(push_request, PushRequest, Edge);
HALOGRAPH_SAME(push_request, PushRequest, Type);
HALOGRAPH_SAME(push_request, PushRequest, Name);
HALOGRAPH_SAME(push_request, PushRequest, Part);
HALOGRAPH_SAME(push_request, PushRequest, Kind);
HALOGRAPH_SAME(push_request, PushRequest, Client);
HALOGRAPH_SAME(push_request, PushRequest, Sequence);
HALOGRAPH_SAME(push_request, PushRequest, Step);
HALOGRAPH_SAME(push_request, PushRequest, Ids);
static_assert(push_request::kDType == v1::PushRequest::kDtypeFieldNumber);
HALOGRAPH_SAME(push_request, PushRequest, Rows);
HALOGRAPH_SAME(push_request, PushRequest, Registered);
HALOGRAPH_SAME(push_request, PushRequest, Answered);
HALOGRAPH_SAME(sync_step, SyncStep, Step);
HALOGRAPH_SAME(sync_step, SyncStep, Rank);
HALOGRAPH_SAME(sync_step, SyncStep, WorldSize);
HALOGRAPH_SAME(sync_step, SyncStep, Run);
HALOGRAPH_SAME(sync_step, SyncStep, Chunk);
HALOGRAPH_SAME(sync_step, SyncStep, Chunks);
HALOGRAPH_SAME(push_reply, PushReply, Lsn);
HALOGRAPH_SAME(read_snapshot_reply, ReadSnapshotReply, Rows);
HALOGRAPH_SAME(read_snapshot_reply, ReadSnapshotReply, Images);
HALOGRAPH_SAME(read_snapshot_reply, ReadSnapshotReply, Next);
HALOGRAPH_SAME(read_snapshot_reply, ReadSnapshotReply, Step);
HALOGRAPH_SAME(snapshot_place, SnapshotPlace, File);
HALOGRAPH_SAME(snapshot_place, SnapshotPlace, Offset);
HALOGRAPH_SAME(snapshot_place, SnapshotPlace, Section);
HALOGRAPH_SAME(snapshot_place, SnapshotPlace, Row);
HALOGRAPH_SAME(push_reply, PushReply, AppliedBefore);

HALOGRAPH_SAME(topology_reply, ReadTopologyReply, FileBytes);
HALOGRAPH_SAME(topology_reply, ReadTopologyReply, Data);
HALOGRAPH_SAME(task_set_reply, ReadTaskSetReply, TotalRows);
HALOGRAPH_SAME(task_set_reply, ReadTaskSetReply, Rows);
HALOGRAPH_SAME(task_set_reply, ReadTaskSetReply, Arrays);
HALOGRAPH_SAME(tensor, Tensor, Name);
static_assert(tensor::kDType == v1::Tensor::kDtypeFieldNumber);
HALOGRAPH_SAME(tensor, Tensor, Shape);
HALOGRAPH_SAME(tensor, Tensor, Data);

#undef HALOGRAPH_SAME

}  // namespace halograph::wire
