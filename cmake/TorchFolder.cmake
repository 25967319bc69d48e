# A libtorch in a folder of its own, such as the torch folder of a Python wheel: headers in include,
# libraries in lib. Its own CMake package is not asked: it wants nvcc and a CUDA toolkit of the same
# version, of which nothing here needs more than the libraries.
#   halograph_torch_folder(FOLDER)     makes the target halograph_torch
include_guard()

function(halograph_torch_folder folder)
  if(NOT EXISTS ${folder}/include/torch/csrc/api/include OR NOT EXISTS ${folder}/lib/libtorch_cpu.so)
    message(FATAL_ERROR
      "HALOGRAPH_TORCH_DIR: ${folder} has no include/torch and lib/libtorch_cpu.so: give the folder "
      "that `python3 -c 'import torch; print(torch.__path__[0])'` prints, or that of libtorch's archive")
  endif()

  # It may bring headers of other libraries, in versions of its own: they stay hidden.
  set(headers ${CMAKE_BINARY_DIR}/torch_include)
  file(MAKE_DIRECTORY ${headers})
  file(GLOB entries RELATIVE ${folder}/include ${folder}/include/*)
  list(REMOVE_ITEM entries fmt google gtest nlohmann pybind11)
  foreach(entry ${entries})
    file(CREATE_LINK ${folder}/include/${entry} ${headers}/${entry} SYMBOLIC)
  endforeach()

  # CUDA's are named by nobody: they bring their kernels by being loaded.
  set(libraries c10 torch_cpu)
  if(EXISTS ${folder}/lib/libtorch_cuda.so)
    list(APPEND libraries c10_cuda torch_cuda)
  endif()
  list(APPEND libraries torch)
  list(TRANSFORM libraries REPLACE "(.+)" "${folder}/lib/lib\\1.so")
  list(JOIN libraries "," libraries)

  add_library(halograph_torch INTERFACE)
  target_include_directories(halograph_torch SYSTEM INTERFACE
    ${headers} ${headers}/torch/csrc/api/include)
  # What CUDA's libraries need lies in other wheels, which they find by themselves.
  target_link_options(halograph_torch INTERFACE
    "LINKER:--no-as-needed,${libraries},--as-needed"
    "LINKER:--allow-shlib-undefined" "LINKER:-rpath,${folder}/lib")
endfunction()
