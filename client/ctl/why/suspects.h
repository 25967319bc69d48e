// Which servers are to blame for a part of a call's time, and what is said of them: what the causes
// share that lie with servers or on the way to them. Pure functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/ctl/why/causes.h"

namespace halograph::ctl {

using Part = std::function<double(const ServerPicture&)>;  // seconds of a call

// Servers of which a part of a call's time is long: at least `least` seconds, this share of the
// call, and half of what it is at the worst of them. The worst first.
[[nodiscard]] std::vector<const ServerPicture*> Suspects(const Picture& picture, const Part& part,
                                                         double least, double least_share);
// "a:7000, b:7000"
[[nodiscard]] std::string Addresses(const std::vector<const ServerPicture*>& servers);
// Whether one of several servers is suspected.
[[nodiscard]] bool StandsAlone(const Picture& picture,
                               const std::vector<const ServerPicture*>& suspects);

// Sets the finding's share to what a part of the calls to the worst server costs: minibatches wait
// for the slowest server.
void Weigh(const Picture& picture, double part, Finding* finding);
// What a call to the server takes.
[[nodiscard]] std::string OfCalls(const ServerPicture& server);
// Adds the part at servers that are not suspected: "on the way elsewhere: 0.4 ms at c:7000".
void AddOthers(const Picture& picture, const std::vector<const ServerPicture*>& suspects,
               const Part& part, std::string_view what, Finding* finding);

}  // namespace halograph::ctl
