// Who lacks processors: threads have work to do, and wait for one. Pure functions.
//
// A thread that receives or sends waits as one that works does, so a lack makes calls take long on
// the way, too. There it looks as if the way were full: DrawLacks says how much of that it
// explains.
#pragma once

#include "client/ctl/why/picture.h"

namespace halograph::ctl {

// Whether threads of a server that have work to do wait for processors for a good part of their
// time. kPerhaps: it does not tell what they waited for, and they got fewer processors than they
// worked: it may be a disk, too.
enum class Lack { kNo, kPerhaps, kYes };
[[nodiscard]] Lack LackOfProcessors(const ServerPicture& server);
// Seconds of a call that such a lack costs at most; 0 without one.
[[nodiscard]] double SecondsLacked(const ServerPicture& server);
// Whether several servers lack them alike: then trainers ask for more than all of them can do, and
// no server is at fault. Of servers that tell what they lack.
[[nodiscard]] bool AllLackAlike(const Picture& picture);

// Of the time in which threads of the rank's process had work to do, the share in which they waited
// for a processor, if it is a good part; else 0, and where the process does not tell.
[[nodiscard]] double LackOfProcessors(const RankPicture& rank);
// Whether the process uses all processors that it may use.
[[nodiscard]] bool UsesUpProcessors(const RankPicture& rank);

// Fills in way_of_server, of servers that surely lack them, and way_of_trainers.
void DrawLacks(Picture* picture);

}  // namespace halograph::ctl
