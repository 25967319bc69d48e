#include "common/sampling/kernel/outcome.h"

namespace halograph {
namespace {

constexpr const char* kAdvice =
    "the partition folder is damaged; open it with its contents verified to find the file";

}  // namespace

Status DamageOf(const FusedOutcome& outcome, std::string_view relation) {
  switch (outcome.kind) {
    case FusedOutcome::Kind::kUnknownSource:
      return DataLoss("{}: an edge has source {}, which its type does not have; {}", relation,
                      outcome.id, kAdvice);
    case FusedOutcome::Kind::kDamagedOffsets:
      return DataLoss("{}: the offsets of node {} lie outside its edges' file or descend; {}",
                      relation, outcome.id, kAdvice);
    case FusedOutcome::Kind::kDamagedDrawer:
      return DataLoss("{}: the tables of node {} pick edges that it does not have; {}", relation,
                      outcome.id, kAdvice);
    case FusedOutcome::Kind::kDone:
    case FusedOutcome::Kind::kListTooLong:
      break;
  }
  return Internal("{}: sampling ended in an unknown way", relation);
}

}  // namespace halograph
