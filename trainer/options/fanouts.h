// How many neighbours are drawn: what --fanouts and --eval-fanouts say, for all relations alike or
// relation by relation, and what that means for a graph. Knows no libtorch.
//   15,10                      a number a layer, from the seeds outward: of every relation
//   writes=10:5,cites=15:10    a number a layer, of each relation
//   writes=10:5,*=5:5          *: of all relations that are not named, as are numbers alone (5,5)
// A relation is named by its name, if that is of one relation, or by its triple,
// author:writes:paper. Names with a comma cannot be written: use *.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/program/options.h"
#include "common/sampling/request.h"

namespace halograph {

struct RelationFanouts {
  std::string relation;         // name or triple as it was given; "*": all that are not named
  std::vector<int32_t> layers;  // from the seeds outward
  bool operator==(const RelationFanouts&) const = default;
};

struct Fanouts {
  std::vector<int32_t> layers;         // of all relations that are not named; or none
  std::vector<RelationFanouts> named;  // in the order given

  [[nodiscard]] bool empty() const { return layers.empty() && named.empty(); }
  bool operator==(const Fanouts&) const = default;
};

// InvalidArgument or OutOfRange naming the word: no number, no form that there is, a number that is
// no fanout; a relation twice; both numbers alone and *.
[[nodiscard]] StatusOr<Fanouts> ParseFanouts(std::string_view text);
// Text that is parsed to them. Numbers alone come first.
[[nodiscard]] std::string FanoutsText(const Fanouts& fanouts);
// Numbers as a list of numbers; else the text.
[[nodiscard]] Json FanoutsJson(const Fanouts& fanouts);

// InvalidArgument naming `option` ("--fanouts") and the entry that has not one fanout for each of
// `layers` layers; or a fanout out of range.
[[nodiscard]] Status CheckFanouts(std::string_view option, const Fanouts& fanouts, int64_t layers);

// What is drawn of a graph; every layer has every relation. Requires CheckFanouts.
//   NotFound         a relation that is not there; those that are, are named
//   InvalidArgument  a name of several relations; a relation named twice; relations that have no
//                    fanout
[[nodiscard]] StatusOr<SamplingSpec> ChooseFanouts(std::string_view option, const Fanouts& fanouts,
                                                   const Schema& schema, bool replace);

}  // namespace halograph
