// The methods of the servers, a row each: what server and client must know of a method beside its
// messages. A new method takes an enumerator and a row here, a row in server/methods.h, and its
// handler; bounds, retries and statistics follow from the rows. Everything here is constant, and
// its texts live for ever.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/wire/capabilities.h"

namespace halograph {

// Numbers that stay within a process: on the wire a method is its name.
enum class Method : uint8_t {
  kDescribe,
  kSample,
  kGraphReadTaskSet,  // kReadTaskSet under its first name
  kReadTopology,
  kColumnSums,
  kExtract,
  kPull,
  kReadTaskSet,
  kPush,
  kRegisterClient,
  kCreateTensor,
  kDropTensor,
  kListTensors,
  kSnapshotTensors,
  kListSnapshots,
  kReadSnapshot,
  kDeleteSnapshot,
  kRestoreSnapshot,
  kStats,
  kEnd,  // none: how many there are
};
inline constexpr auto kNumMethods = static_cast<size_t>(Method::kEnd);

// How large a request may be. A larger one is RESOURCE_EXHAUSTED.
enum class RequestBound : uint8_t {
  // kSmallRequestBytes. Generated code reads it, which takes 30 times the bytes of fields that it
  // does not know.
  kSmall,
  // As large as messages may be: it has ids or rows, and is read by hand (proto/wire).
  kMessage,
};
inline constexpr size_t kSmallRequestBytes = 64 << 10;

// What a caller needs where servers tell callers apart (server/rights). Of what it is about, a
// tensor, relation or task set, the handler says: it knows the request.
enum class Right : uint8_t {
  kNone,      // none was named: no row may have it
  kAny,       // to be anybody that the policy knows; lists show what the caller may see
  kSample,    // to read edges of relations
  kPull,      // to read rows of tensors, and task sets
  kPush,      // to change rows of mutable tensors
  kCreate,    // to make and drop such tensors
  kSnapshot,  // to make, list, read and delete their snapshots
  kAdmin,     // to put what others pushed aside: restored snapshots, rows set bit by bit, imports
  kEnd,       // none: how many there are
};

struct MethodRow {
  Method method;
  std::string_view path;  // as gRPC has it; a zero follows
  RequestBound request;
  // A client may send it again after it may have been done: that changes nothing. If not, only what
  // a server refused before it did anything is sent again; the server says so by its pushback.
  bool repeatable;
  Right right;  // some calls need more: those that act as an operator does need kAdmin
  // The word (proto/wire/capabilities.h) of servers that have the method; empty: all have it.
  std::string_view capability;
};

inline constexpr std::string_view kPackage = "halograph.v1";

inline constexpr auto kMethodRows = std::to_array<MethodRow>({
    {Method::kDescribe, "/halograph.v1.GraphService/Describe", RequestBound::kSmall, true,
     Right::kAny, ""},
    {Method::kSample, "/halograph.v1.GraphService/Sample", RequestBound::kMessage, true,
     Right::kSample, ""},
    {Method::kGraphReadTaskSet, "/halograph.v1.GraphService/ReadTaskSet", RequestBound::kSmall,
     true, Right::kPull, ""},
    {Method::kReadTopology, "/halograph.v1.GraphService/ReadTopology", RequestBound::kSmall, true,
     Right::kSample, ""},
    {Method::kColumnSums, "/halograph.v1.GraphService/ColumnSums", RequestBound::kMessage, true,
     Right::kSample, wire::kSampleColumns},
    {Method::kExtract, "/halograph.v1.GraphService/Extract", RequestBound::kMessage, true,
     Right::kSample, wire::kSampleColumns},
    {Method::kPull, "/halograph.v1.KVService/Pull", RequestBound::kMessage, true, Right::kPull, ""},
    {Method::kReadTaskSet, "/halograph.v1.KVService/ReadTaskSet", RequestBound::kSmall, true,
     Right::kPull, wire::kTaskSetRows},
    // Its numbers tell the server that it has been applied before.
    {Method::kPush, "/halograph.v1.KVService/Push", RequestBound::kMessage, true, Right::kPush,
     wire::kMutableTensors},
    // Repeated, it gives another id: the first one is nobody's.
    {Method::kRegisterClient, "/halograph.v1.KVService/RegisterClient", RequestBound::kSmall, true,
     Right::kPush, wire::kRegisteredClients},
    {Method::kCreateTensor, "/halograph.v1.KVService/CreateTensor", RequestBound::kSmall, true,
     Right::kCreate, wire::kMutableTensors},
    {Method::kDropTensor, "/halograph.v1.KVService/DropTensor", RequestBound::kSmall, true,
     Right::kCreate, wire::kMutableTensors},
    {Method::kListTensors, "/halograph.v1.KVService/ListTensors", RequestBound::kSmall, true,
     Right::kAny, wire::kMutableTensors},
    // Repeated, it would be refused for what the first one made.
    {Method::kSnapshotTensors, "/halograph.v1.KVService/SnapshotTensors", RequestBound::kSmall,
     false, Right::kSnapshot, wire::kMutableTensors},
    {Method::kListSnapshots, "/halograph.v1.KVService/ListSnapshots", RequestBound::kSmall, true,
     Right::kSnapshot, wire::kMutableTensors},
    {Method::kReadSnapshot, "/halograph.v1.KVService/ReadSnapshot", RequestBound::kSmall, true,
     Right::kSnapshot, wire::kReadSnapshot},
    {Method::kDeleteSnapshot, "/halograph.v1.KVService/DeleteSnapshot", RequestBound::kSmall, true,
     Right::kSnapshot, wire::kMutableTensors},
    {Method::kRestoreSnapshot, "/halograph.v1.KVService/RestoreSnapshot", RequestBound::kSmall,
     true, Right::kAdmin, wire::kMutableTensors},
    {Method::kStats, "/halograph.v1.AdminService/Stats", RequestBound::kSmall, true, Right::kAny,
     ""},
});

// Whether `rows`, of any type with a member `method`, are one a method, in the order of Method.
template <typename Rows>
[[nodiscard]] constexpr bool HasRowOfEachMethod(const Rows& rows) {
  if (std::size(rows) != kNumMethods) return false;
  for (size_t m = 0; m < kNumMethods; ++m) {
    if (rows[m].method != static_cast<Method>(m)) return false;
  }
  return true;
}
static_assert(HasRowOfEachMethod(kMethodRows),
              "kMethodRows needs a row for each Method, in the order of the enumerators");

[[nodiscard]] constexpr bool EachHasARight() {
  for (const MethodRow& row : kMethodRows) {
    if (row.right == Right::kNone || row.right >= Right::kEnd) return false;
  }
  return true;
}
static_assert(EachHasARight(), "a row of kMethodRows names no right");

// Requires a method that is one.
[[nodiscard]] constexpr const MethodRow& RowOf(Method method) {
  assert(method < Method::kEnd);
  return kMethodRows[static_cast<size_t>(method)];
}
// "/halograph.v1.GraphService/Sample"; a zero follows.
[[nodiscard]] constexpr std::string_view PathOf(Method method) { return RowOf(method).path; }
// "halograph.v1.GraphService/Sample"
[[nodiscard]] constexpr std::string_view FullNameOf(Method method) {
  return PathOf(method).substr(1);
}
// "GraphService/Sample", as messages, logs and statistics have it.
[[nodiscard]] constexpr std::string_view MethodName(Method method) {
  return FullNameOf(method).substr(kPackage.size() + 1);
}
// "halograph.v1.GraphService"
[[nodiscard]] constexpr std::string_view ServiceOf(Method method) {
  const std::string_view name = FullNameOf(method);
  return name.substr(0, name.find('/'));
}

[[nodiscard]] constexpr bool IsFirstOfItsService(Method method) {
  for (const MethodRow& row : kMethodRows) {
    if (row.method == method) return true;
    if (ServiceOf(row.method) == ServiceOf(method)) return false;
  }
  return true;
}
[[nodiscard]] constexpr size_t CountServices() {
  size_t services = 0;
  for (const MethodRow& row : kMethodRows) services += IsFirstOfItsService(row.method) ? 1 : 0;
  return services;
}
[[nodiscard]] constexpr auto ListServices() {
  std::array<std::string_view, CountServices()> services;
  size_t listed = 0;
  for (const MethodRow& row : kMethodRows) {
    if (IsFirstOfItsService(row.method)) services[listed++] = ServiceOf(row.method);
  }
  return services;
}
// The services of the table, each once.
inline constexpr auto kServiceNames = ListServices();

// The method of this MethodName; nothing if there is none.
[[nodiscard]] std::optional<Method> FindMethod(std::string_view name);

}  // namespace halograph
