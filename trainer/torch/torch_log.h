// What libtorch writes to its own log: of connections, mostly, that c10d tries.
#pragma once

namespace halograph {

// From now on its lines are lines of the program's log (common/base/log.h) and of nothing else:
// c10d's at level debug, since what comes of them is in the error that the call ends with; others
// at the level that they have. Idempotent. Where libtorch is built without glog, lines below an
// error are left out.
void TakeTorchLog();

}  // namespace halograph
