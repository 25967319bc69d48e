#include "tests/support/graphblas/matrix_form.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

extern "C" {
#include <GraphBLAS.h>
}

namespace halograph {
namespace {

void Check(GrB_Info info, const char* call) {
  if (info == GrB_SUCCESS) return;
  throw std::runtime_error(fmt::format("GraphBLAS: {} gave {}", call, static_cast<int>(info)));
}

// Nothing of it is left for later: what is timed is done.
SparseMatrix Finished(SparseMatrix matrix) {
  Check(GrB_Matrix_wait(matrix.handle(), GrB_MATERIALIZE), "GrB_Matrix_wait");
  return matrix;
}

// Signed and unsigned integers of one width may stand for each other.
const GrB_Index* Indices(std::span<const int64_t> ids) {
  return reinterpret_cast<const GrB_Index*>(ids.data());
}

std::vector<uint64_t> AddUp(const SparseMatrix& a, int64_t size, GrB_Descriptor descriptor) {
  GrB_Vector sums = nullptr;
  Check(GrB_Vector_new(&sums, GrB_UINT64, static_cast<GrB_Index>(size)), "GrB_Vector_new");
  Check(GrB_Matrix_reduce_Monoid(sums, nullptr, nullptr, GrB_PLUS_MONOID_UINT64, a.handle(),
                                 descriptor),
        "GrB_Matrix_reduce");
  auto count = static_cast<GrB_Index>(size);
  std::vector<uint64_t> places(count), values(count), all(count);
  Check(GrB_Vector_extractTuples_UINT64(places.data(), values.data(), &count, sums),
        "GrB_Vector_extractTuples");
  for (size_t i = 0; i < count; ++i) all[places[i]] = values[i];
  GrB_Vector_free(&sums);
  return all;
}

}  // namespace

GraphBlasSession::GraphBlasSession() {
  Check(GrB_init(GrB_NONBLOCKING), "GrB_init");
  Check(GxB_Global_Option_set_INT32(GxB_GLOBAL_NTHREADS, 1), "GxB_Global_Option_set");
}

GraphBlasSession::~GraphBlasSession() { GrB_finalize(); }

void MatrixEntries::Add(int64_t row, int64_t column, uint64_t value) {
  rows.push_back(static_cast<uint64_t>(row));
  columns.push_back(static_cast<uint64_t>(column));
  values.push_back(value);
}

SparseMatrix::SparseMatrix(int64_t rows, int64_t columns, const MatrixEntries& entries)
    : rows_(rows), columns_(columns) {
  Check(GrB_Matrix_new(&handle_, GrB_UINT64, static_cast<GrB_Index>(rows),
                       static_cast<GrB_Index>(columns)),
        "GrB_Matrix_new");
  if (entries.values.empty()) return;
  Check(GrB_Matrix_build_UINT64(handle_, entries.rows.data(), entries.columns.data(),
                                entries.values.data(), entries.values.size(), GrB_PLUS_UINT64),
        "GrB_Matrix_build");
  Check(GrB_Matrix_wait(handle_, GrB_MATERIALIZE), "GrB_Matrix_wait");
}

SparseMatrix::~SparseMatrix() { GrB_Matrix_free(&handle_); }

int64_t SparseMatrix::num_entries() const {
  GrB_Index count = 0;
  Check(GrB_Matrix_nvals(&count, handle_), "GrB_Matrix_nvals");
  return static_cast<int64_t>(count);
}

MatrixEntries SparseMatrix::entries() const {
  auto count = static_cast<GrB_Index>(num_entries());
  MatrixEntries found;
  for (auto* const column : {&found.rows, &found.columns, &found.values}) column->resize(count);
  Check(GrB_Matrix_extractTuples_UINT64(found.rows.data(), found.columns.data(),
                                        found.values.data(), &count, handle_),
        "GrB_Matrix_extractTuples");
  // The library promises no order.
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(found.rows[a], found.columns[a]) < std::pair(found.rows[b], found.columns[b]);
  });
  MatrixEntries sorted;
  for (const size_t i : order) {
    sorted.Add(static_cast<int64_t>(found.rows[i]), static_cast<int64_t>(found.columns[i]),
               found.values[i]);
  }
  return sorted;
}

SparseMatrix MakeAdjacency(const RelationTopology& topology, int64_t num_sources) {
  MatrixEntries entries;
  for (const CscSegment& segment : topology.segments()) {
    for (int64_t row = 0; row < segment.nodes.size(); ++row) {
      for (int64_t e = segment.indptr[row]; e < segment.indptr[row + 1]; ++e) {
        entries.Add(segment.nodes.begin + row, segment.Source(e), 1);
      }
    }
  }
  return {topology.num_destinations(), num_sources, entries};
}

SparseMatrix MakeListRows(std::span<const std::vector<int64_t>> lists,
                          std::span<const uint64_t> values) {
  MatrixEntries entries;
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const int64_t v : lists[i]) entries.Add(static_cast<int64_t>(i), v, values[v]);
  }
  return {std::ssize(lists), std::ssize(values), entries};
}

SparseMatrix MakeNodeRows(std::span<const int64_t> nodes, int64_t num_nodes) {
  MatrixEntries entries;
  for (size_t i = 0; i < nodes.size(); ++i) entries.Add(static_cast<int64_t>(i), nodes[i], 1);
  return {std::ssize(nodes), num_nodes, entries};
}

SparseMatrix MakeNodeColumns(std::span<const int64_t> nodes, int64_t num_nodes) {
  MatrixEntries entries;
  for (size_t i = 0; i < nodes.size(); ++i) entries.Add(nodes[i], static_cast<int64_t>(i), 1);
  return {num_nodes, std::ssize(nodes), entries};
}

SparseMatrix Product(const SparseMatrix& a, const SparseMatrix& b) {
  SparseMatrix product(a.rows(), b.columns());
  Check(GrB_mxm(product.handle(), nullptr, nullptr, GrB_PLUS_TIMES_SEMIRING_UINT64, a.handle(),
                b.handle(), nullptr),
        "GrB_mxm");
  return Finished(std::move(product));
}

SparseMatrix ExtractBlock(const SparseMatrix& a, std::span<const int64_t> rows,
                          std::span<const int64_t> columns) {
  SparseMatrix block(std::ssize(rows), std::ssize(columns));
  Check(GrB_Matrix_extract(block.handle(), nullptr, nullptr, a.handle(), Indices(rows), rows.size(),
                           Indices(columns), columns.size(), nullptr),
        "GrB_Matrix_extract");
  return Finished(std::move(block));
}

std::vector<uint64_t> AddUpRows(const SparseMatrix& a) { return AddUp(a, a.rows(), nullptr); }
std::vector<uint64_t> AddUpColumns(const SparseMatrix& a) {
  return AddUp(a, a.columns(), GrB_DESC_T0);
}

}  // namespace halograph
