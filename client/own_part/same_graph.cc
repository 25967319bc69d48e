#include "client/own_part/same_graph.h"

namespace halograph {

Status CheckSameGraph(const GraphInfo& info, std::string_view where, const GraphInfo& other,
                      std::string_view other_where) {
  if (info.identity == other.identity && info.schema == other.schema && info.book == other.book) {
    return OkStatus();
  }
  return FailedPrecondition(
      "{}: is of graph {} ('{}'), but {} have graph {} ('{}'); give the folder that they serve",
      where, info.identity, info.schema.graph_name, other_where, other.identity,
      other.schema.graph_name);
}

}  // namespace halograph
