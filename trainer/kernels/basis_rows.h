// Rows of several bases side by side, summed along the groups of a relational block
// (trainer/blocks/relational_block.h) without a product of matrices, and the way back. The widest
// vectors of the processor are used. Each value is made by one thread in a fixed order.
// Thread-safe: calls for other rows may run at once.
#pragma once

#include <cstdint>

#include "trainer/blocks/gather_rows.h"

namespace halograph {

// A source's row has `cols` values for each basis. A group of relation r takes of the mean of its
// sources' rows each basis b, coefficients[r, b] times; or, without coefficients, basis_of[r]
// alone. A mean is the sum of rows, each times the edge's own coefficient, divided by the group's
// degree, where there are these, else by the number of edges.
struct BasisGroups {
  const int64_t* groups = nullptr;      // destinations + 1
  const int32_t* relations = nullptr;   // one a group
  const int64_t* indptr = nullptr;      // groups + 1
  const int32_t* sources = nullptr;     // one an edge
  const float* coefficients = nullptr;  // [relations, bases] without gaps; or null
  const int64_t* basis_of = nullptr;    // one a relation, if there are no coefficients
  int64_t bases = 0;
  int64_t cols = 0;
  const float* edge_coefficients = nullptr;  // one an edge; null: 1 throughout
  const float* degrees = nullptr;            // one a group; or null
};

// Adds to destinations [begin, end) of `out`, of `cols` values: what their groups take of `rows`,
// group by group, edge by edge, basis by basis.
void AddBasisRows(const BasisGroups& of, const ConstRows& rows, int64_t begin, int64_t end,
                  const MutableRows& out);

// The groups that a source is in (TransposedBlock of the groups), and the destination of each
// group.
struct GroupsOfSources {
  const int64_t* indptr = nullptr;           // sources + 1
  const int32_t* groups = nullptr;           // one an edge, ascending within a source
  const int32_t* destinations = nullptr;     // one a group
  const float* edge_coefficients = nullptr;  // one an edge, where the groups have them
};

// Adds to sources [begin, end) of `rows_grad`, of a row's bases: the gradient of their rows, out of
// `grad`, that of the destinations.
void AddBasisRowsBackward(const BasisGroups& of, const GroupsOfSources& by_source,
                          const ConstRows& grad, int64_t begin, int64_t end,
                          const MutableRows& rows_grad);

// Adds to `coefficients_grad`, [relations, bases] without gaps: the gradient of the coefficients,
// of what the groups of destinations [begin, end) take. Requires coefficients.
void AddCoefficientsGradient(const BasisGroups& of, const ConstRows& rows, const ConstRows& grad,
                             int64_t begin, int64_t end, float* coefficients_grad);

}  // namespace halograph
