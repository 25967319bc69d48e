// What lists and statistics tell to whom: of tensors and relations what the caller has any verb
// for, and of other callers nothing but to operators. Pure functions; they do nothing where there
// is no policy.
#pragma once

#include "server/handlers/describe.h"
#include "server/handlers/list_pages.h"
#include "server/rights/access.h"

namespace halograph::server {

// Marks of imports stay: they tell nobody which tensor they are of (common/state/import_mark.h).
// A page may be left empty though others follow.
void LeaveWhatIsSeen(const Access& access, TensorPage* page);
// Of the tensors of snapshots; the snapshots stay.
void LeaveWhatIsSeen(const Access& access, SnapshotsPage* page);
// Of tensors, of series by `tensor`, `relation` and `principal`, of clients and of slow calls. Sums
// stay.
void LeaveWhatIsSeen(const Access& access, ServerSnapshot* snapshot);

}  // namespace halograph::server
