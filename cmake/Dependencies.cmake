# Every third-party library that the project links, found once. Debian 12 packages: deploy/packages.txt
include_guard()

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)
find_path(HALOGRAPH_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
find_path(HALOGRAPH_MICROHTTPD_INCLUDE microhttpd.h REQUIRED)  # its .pc wants the headers of GnuTLS, too
find_library(HALOGRAPH_MICROHTTPD microhttpd REQUIRED)

if(HALOGRAPH_PARTITIONER)
  find_library(HALOGRAPH_METIS metis REQUIRED)
endif()

# The catalogue of mutable state: for a server, and for a trainer that keeps state of its own.
if(HALOGRAPH_REMOTE OR HALOGRAPH_TRAINER)
  set(HALOGRAPH_ROCKSDB ON)
  pkg_check_modules(ROCKSDB REQUIRED IMPORTED_TARGET rocksdb)
endif()

if(HALOGRAPH_REMOTE)
  find_package(Protobuf REQUIRED)
  pkg_check_modules(GRPCPP REQUIRED IMPORTED_TARGET grpc++)
  find_library(HALOGRAPH_GRPC_REFLECTION grpc++_reflection REQUIRED)
  find_program(HALOGRAPH_PROTOC protoc REQUIRED)
  find_program(HALOGRAPH_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
endif()

if(HALOGRAPH_TRAINER)
  if(HALOGRAPH_TORCH_DIR)  # it has gloo inside, of which no more than headers are used
    include(cmake/TorchFolder.cmake)
    halograph_torch_folder(${HALOGRAPH_TORCH_DIR})
    set(TORCH_LIBRARIES halograph_torch)
    set(HALOGRAPH_GLOO "")
  else()
    find_package(Torch REQUIRED)
    find_library(HALOGRAPH_GLOO gloo REQUIRED)
  endif()
  find_package(OpenMP REQUIRED COMPONENTS CXX)  # else at::parallel_for is a loop on one thread
endif()

if(HALOGRAPH_TESTS)
  find_package(GTest REQUIRED)
  # The one that may be missing: an oracle. What needs it is then left out.
  find_path(HALOGRAPH_GRAPHBLAS_INCLUDE GraphBLAS.h)
  find_library(HALOGRAPH_GRAPHBLAS graphblas)
  if(NOT HALOGRAPH_GRAPHBLAS_INCLUDE OR NOT HALOGRAPH_GRAPHBLAS)
    set(HALOGRAPH_GRAPHBLAS OFF)
    message(STATUS "sampling_graphblas_test and matrix_bench are left out: they need GraphBLAS.h and "
                   "libgraphblas (Debian: libgraphblas-dev)")
  endif()
endif()
if(HALOGRAPH_TESTS AND HALOGRAPH_BENCH)
  find_package(benchmark REQUIRED)
endif()
