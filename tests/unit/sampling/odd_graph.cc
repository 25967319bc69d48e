#include "tests/unit/sampling/odd_graph.h"

namespace halograph {
namespace {

using Edges = std::vector<std::pair<int64_t, int64_t>>;

int64_t Drawn(int64_t below, CounterRng* rng) {
  return static_cast<int64_t>(rng->NextBounded(static_cast<uint64_t>(below)));
}

// In-edges of one destination, of a kind of their own.
void AddInEdges(int64_t v, int64_t sources, bool same_type, CounterRng* rng, Edges* edges) {
  const auto add = [&](int64_t count, auto source) {
    for (int64_t i = 0; i < count; ++i) edges->emplace_back(source(), v);
  };
  const auto any = [&] { return Drawn(sources, rng); };
  switch (rng->NextBounded(7)) {
    case 0:
      return;  // isolated
    case 1:
      return add(1, any);
    case 2:
      return add(1 + Drawn(4, rng), [&] { return same_type ? v : any(); });
    case 3:
      return add(2 + Drawn(40, rng), [one = any()] { return one; });
    case 4:
      return add(100 + Drawn(600, rng), any);
    default:
      return add(2 + Drawn(30, rng), any);
  }
}

}  // namespace

TestGraphSpec OddGraph(CounterRng* rng) {
  TestGraphSpec spec{
      .parts = 1 + static_cast<int>(Drawn(5, rng)), .node_types = {}, .relations = {}};
  const int64_t types = 1 + Drawn(3, rng);
  for (int64_t t = 0; t < types; ++t) {
    TestNodeType type{.name = std::string("type") + static_cast<char>('a' + t), .owners = {}};
    type.owners.resize(static_cast<size_t>(1 + Drawn(60, rng)));
    const int64_t owners = 1 + Drawn(spec.parts, rng);
    for (int& owner : type.owners) owner = static_cast<int>(Drawn(owners, rng));
    spec.node_types.push_back(std::move(type));
  }
  const int64_t relations = 1 + Drawn(4, rng);
  for (int64_t r = 0; r < relations; ++r) {
    const TestNodeType& from = spec.node_types[static_cast<size_t>(Drawn(types, rng))];
    const TestNodeType& to = spec.node_types[static_cast<size_t>(Drawn(types, rng))];
    TestRelation relation{.source = from.name,
                          .name = std::string("r") + static_cast<char>('0' + r),
                          .destination = to.name};
    for (int64_t v = 0; v < std::ssize(to.owners); ++v) {
      AddInEdges(v, std::ssize(from.owners), from.name == to.name, rng, &relation.edges);
    }
    spec.relations.push_back(std::move(relation));
  }
  return spec;
}

}  // namespace halograph
