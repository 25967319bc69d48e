#include "trainer/blocks/relational_block.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "trainer/blocks/gather_rows.h"

namespace halograph {
namespace {

Status CheckRelations(std::span<const RelationEdges> relations) {
  if (relations.empty()) return InvalidArgument("no relation to group");
  const size_t bounds = relations[0].block->indptr.size();
  for (size_t r = 0; r < relations.size(); ++r) {
    const Block& block = *relations[r].block;
    if (block.indptr.size() != bounds) {
      return InvalidArgument(
          "relation {} has {} destinations, relation 0 has {}: group relations into one node type",
          r, block.indptr.size() - 1, bounds - 1);
    }
    if (block.indices.empty()) continue;
    const int64_t last =
        relations[r].first_source + *std::max_element(block.indices.begin(), block.indices.end());
    if (last > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument(
          "relation {} reads row {} of the stacked inputs, the last that can be named is {}: take "
          "smaller minibatches",
          r, last, std::numeric_limits<int32_t>::max());
    }
  }
  return OkStatus();
}

// Adds what blocks say of their edges beside them, if one of the relations says it.
class FactorsOfGroups {
 public:
  FactorsOfGroups(std::span<const RelationEdges> relations, std::vector<float>* coefficients,
                  std::vector<float>* degrees)
      : coefficients_(coefficients), degrees_(degrees) {
    for (const RelationEdges& relation : relations) {
      with_coefficients_ = with_coefficients_ || !relation.block->coefficients.empty();
      with_degrees_ = with_degrees_ || !relation.block->degrees.empty();
    }
  }

  // The group of destination v of a block.
  void Add(const Block& block, size_t v) {
    const int64_t begin = block.indptr[v], end = block.indptr[v + 1];
    if (with_degrees_) {
      degrees_->push_back(block.degrees.empty() ? static_cast<float>(end - begin)
                                                : block.degrees[v]);
    }
    if (!with_coefficients_) return;
    if (block.coefficients.empty()) {
      coefficients_->insert(coefficients_->end(), static_cast<size_t>(end - begin), 1.0F);
    } else {
      coefficients_->insert(coefficients_->end(), block.coefficients.begin() + begin,
                            block.coefficients.begin() + end);
    }
  }

 private:
  std::vector<float>* const coefficients_;
  std::vector<float>* const degrees_;
  bool with_coefficients_ = false, with_degrees_ = false;
};

}  // namespace

StatusOr<RelationalBlock> GroupByRelation(std::span<const RelationEdges> relations) {
  HG_RETURN_IF_ERROR(CheckRelations(relations));
  const size_t destinations = relations[0].block->indptr.size() - 1;
  size_t edges = 0;
  for (const RelationEdges& relation : relations) edges += relation.block->indices.size();
  RelationalBlock out;
  out.num_relations = static_cast<int64_t>(relations.size());
  out.groups.reserve(destinations + 1);
  out.sources.reserve(edges);
  out.groups.push_back(0);
  out.indptr.push_back(0);
  FactorsOfGroups factors(relations, &out.coefficients, &out.degrees);
  for (size_t v = 0; v < destinations; ++v) {
    for (size_t r = 0; r < relations.size(); ++r) {
      const Block& block = *relations[r].block;
      if (block.indptr[v] == block.indptr[v + 1]) continue;
      for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
        out.sources.push_back(static_cast<int32_t>(block.indices[e] + relations[r].first_source));
      }
      factors.Add(block, v);
      out.relations.push_back(static_cast<int32_t>(r));
      out.indptr.push_back(static_cast<int64_t>(out.sources.size()));
    }
    out.groups.push_back(static_cast<int64_t>(out.relations.size()));
  }
  return out;
}

StatusOr<RelationGroups> GroupWithinRelations(std::span<const RelationEdges> relations) {
  RelationGroups out;
  if (relations.empty()) return out;
  HG_RETURN_IF_ERROR(CheckRelations(relations));
  FactorsOfGroups factors(relations, &out.edges.coefficients, &out.edges.degrees);
  for (const RelationEdges& relation : relations) {
    const Block& block = *relation.block;
    for (size_t v = 0; v + 1 < block.indptr.size(); ++v) {
      if (block.indptr[v] == block.indptr[v + 1]) continue;
      for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
        out.edges.indices.push_back(static_cast<int32_t>(block.indices[e] + relation.first_source));
      }
      factors.Add(block, v);
      out.destinations.push_back(static_cast<int64_t>(v));
      out.edges.indptr.push_back(static_cast<int64_t>(out.edges.indices.size()));
    }
    out.relations.push_back(static_cast<int64_t>(out.destinations.size()));
  }
  return out;
}

TransposedBlock GroupsBySource(const RelationalBlock& block, int64_t num_sources) {
  return Transpose(block.indptr.data(), static_cast<int64_t>(block.relations.size()),
                   block.sources.data(), num_sources,
                   {DataOrNull(block.coefficients), DataOrNull(block.degrees)});
}

}  // namespace halograph
