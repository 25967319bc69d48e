// The metadata that clients send with a call and servers read, and what servers send back: keys
// that both sides spell alike. All are optional. Part of the protocol:
// proto/halograph/v1/graph.proto.
#pragma once

namespace halograph {

// The identity of the graph that the call is for; a server of another refuses the call.
inline constexpr char kGraphKey[] = "halograph-graph";
// For the server's log.
inline constexpr char kRequestIdKey[] = "halograph-request-id";
// The same: the trace that joins the requests of one step of a caller (trace_context.h). Clients
// send this one alone. An older server does not know it, and has no trace id in its log then; the
// request id, which is in the caller's trace too, still joins the two. A second key in each call
// would cost its bytes for as long as there are servers, to save that while they are of two
// versions.
inline constexpr char kTraceparentKey[] = "traceparent";
// What older clients send instead, any text. Servers read it where there is no traceparent.
inline constexpr char kTraceIdKey[] = "halograph-trace-id";
// "Bearer TOKEN": who calls, where servers tell callers apart. Sent where nobody else reads it.
inline constexpr char kAuthorizationKey[] = "authorization";
inline constexpr char kRankKey[] = "halograph-rank";
// The call was asked of another server of the part before; servers count such calls.
inline constexpr char kFailedOverKey[] = "halograph-failed-over";

// Of an error, behind it: its reason (common/base/status.h), a word for programs.
inline constexpr char kReasonKey[] = "halograph-reason";
// Such a reason, of UNAVAILABLE: the call was begun, and may have been done. Else nothing was done.
inline constexpr char kMaybeDone[] = "maybe-done";

// The reason of a client's own error: something took the connection, and closed it before it could
// be used. So does a server that refuses the certificate, or speaks TLS with who does not.
inline constexpr char kClosedAtOnce[] = "closed-at-once";

}  // namespace halograph
