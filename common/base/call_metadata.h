// The metadata that clients send with a call and servers read: keys that both sides spell alike.
// All are optional. Part of the protocol: proto/halograph/v1/graph.proto.
#pragma once

namespace halograph {

// The identity of the graph that the call is for; a server of another refuses the call.
inline constexpr char kGraphKey[] = "halograph-graph";
// For the server's log. A trace joins the requests of one step of a caller.
inline constexpr char kRequestIdKey[] = "halograph-request-id";
inline constexpr char kTraceIdKey[] = "halograph-trace-id";
inline constexpr char kRankKey[] = "halograph-rank";
// The call was asked of another server of the part before; servers count such calls.
inline constexpr char kFailedOverKey[] = "halograph-failed-over";

}  // namespace halograph
