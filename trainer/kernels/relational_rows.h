// Rows of groups (relational_block.h) summed by the coefficients of their relations, one sum a
// basis, and the way back. The widest vectors of the processor are used. Each value is made by one
// thread in a fixed order. Thread-safe: calls for different destinations may run at once.
#pragma once

#include <cstdint>

#include "trainer/blocks/gather_rows.h"

namespace halograph {

struct GroupedBases {
  const int64_t* groups = nullptr;      // destinations + 1
  const int32_t* relations = nullptr;   // one a group
  const float* coefficients = nullptr;  // [relations, bases] without gaps
  int64_t bases = 0;
};

// Destinations [begin, end) of `out`: for each basis b, `cols` columns from b * cols on, the sum
// over the destination's groups of coefficients[relation, b] * the group's row of `rows`. Zeros
// without groups.
void SumGroupsByBasis(const GroupedBases& bases, const ConstRows& rows, int64_t cols, int64_t begin,
                      int64_t end, const MutableRows& out);

// Destinations [begin, end), of `grad`, the gradient of the above: the gradient of their groups'
// rows goes to `rows_grad`, unless its data is null; that of the coefficients is added to
// `coefficients_grad`, [relations, bases] without gaps, destination by destination.
void SumGroupsByBasisBackward(const GroupedBases& bases, const ConstRows& rows, int64_t cols,
                              const ConstRows& grad, int64_t begin, int64_t end,
                              const MutableRows& rows_grad, float* coefficients_grad);

}  // namespace halograph
