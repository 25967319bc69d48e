// How the parts of a picture are drawn from evidence, for Draw (picture.h). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/why/picture.h"

namespace halograph::ctl {

// Adds the ranks of a trainer: those of one process, which prints the series of each
// (--logical-ranks), or its own. The evidence must outlive them.
void DrawRanks(const TrainerEvidence& trainer, std::vector<RankPicture>* ranks);

// Fills in what calls to the server come to; trainers call it `target`. Its address and its
// evidence, if it was asked, are there.
void DrawServer(const std::vector<RankPicture>& ranks, const std::string& target,
                ServerPicture* server);

}  // namespace halograph::ctl
