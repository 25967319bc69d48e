// Sampling as sparse matrices (docs/samplers.md, "As matrices"), by SuiteSparse:GraphBLAS: what our
// kernels are held against, in what they give and in time. Values are integers modulo 2^64, so two
// ways to the same number give the same bits. All work is done when a function returns, on the
// calling thread. Not thread-safe. An error of the library is thrown as std::runtime_error, with
// the call that failed.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/graph/topology.h"

struct GB_Matrix_opaque;  // the library's own

namespace halograph {

// Starts the library, on one thread, and ends it. It outlives every matrix, and a process has one:
// the library does not start twice.
class GraphBlasSession {
 public:
  GraphBlasSession();
  ~GraphBlasSession();
  GraphBlasSession(const GraphBlasSession&) = delete;
  GraphBlasSession& operator=(const GraphBlasSession&) = delete;
};

// As long as one another; entry i is at (rows[i], columns[i]).
struct MatrixEntries {
  std::vector<uint64_t> rows;
  std::vector<uint64_t> columns;
  std::vector<uint64_t> values;

  void Add(int64_t row, int64_t column, uint64_t value);
  bool operator==(const MatrixEntries&) const = default;
};

// A matrix with the entries that it was given; what is not there is 0. Moved from, it can only be
// destroyed or assigned to.
class SparseMatrix {
 public:
  // Values given for the same place are added.
  SparseMatrix(int64_t rows, int64_t columns, const MatrixEntries& entries = {});
  ~SparseMatrix();
  SparseMatrix(SparseMatrix&& other) noexcept
      : rows_(other.rows_), columns_(other.columns_), handle_(std::exchange(other.handle_, {})) {}
  SparseMatrix& operator=(SparseMatrix&& other) noexcept {
    std::swap(rows_, other.rows_);
    std::swap(columns_, other.columns_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t columns() const { return columns_; }
  [[nodiscard]] GB_Matrix_opaque* handle() const { return handle_; }
  [[nodiscard]] int64_t num_entries() const;
  [[nodiscard]] MatrixEntries entries() const;  // by row, then by column

 private:
  int64_t rows_;
  int64_t columns_;
  GB_Matrix_opaque* handle_ = nullptr;
};

// A of one relation of which all parts are here: (v, u) is how many edges lead from u to v.
[[nodiscard]] SparseMatrix MakeAdjacency(const RelationTopology& topology, int64_t num_sources);

// Q of LADIES: row i has values[v] at each node v of list i, and as many columns as there are
// values.
[[nodiscard]] SparseMatrix MakeListRows(std::span<const std::vector<int64_t>> lists,
                                        std::span<const uint64_t> values);
// Q of neighbours, and Q_R: row i has 1 at nodes[i].
[[nodiscard]] SparseMatrix MakeNodeRows(std::span<const int64_t> nodes, int64_t num_nodes);
// Q_C: column i has 1 at nodes[i].
[[nodiscard]] SparseMatrix MakeNodeColumns(std::span<const int64_t> nodes, int64_t num_nodes);

// By GrB_mxm.
[[nodiscard]] SparseMatrix Product(const SparseMatrix& a, const SparseMatrix& b);
// By GrB_Matrix_extract: entry (i, j) is that of a at (rows[i], columns[j]).
[[nodiscard]] SparseMatrix ExtractBlock(const SparseMatrix& a, std::span<const int64_t> rows,
                                        std::span<const int64_t> columns);

// By GrB_Matrix_reduce: of A the in-degrees of destinations, and the out-degrees of sources.
[[nodiscard]] std::vector<uint64_t> AddUpRows(const SparseMatrix& a);
[[nodiscard]] std::vector<uint64_t> AddUpColumns(const SparseMatrix& a);

}  // namespace halograph
