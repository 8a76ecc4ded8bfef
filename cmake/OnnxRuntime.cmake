# SPDX-License-Identifier: MIT
# quarkq_onnxruntime: the C API header of ONNX Runtime, when there is one. Nothing is linked: the runtime hands its functions to
# the library that it loads (src/ort_ops). Looked for in ONNXRUNTIME_ROOT (a CMake or environment variable: a folder, or the
# header itself), in what third_party/onnxruntime/fetch_headers.sh fetched, then in the system. The first one counts: an older
# header that lies elsewhere is not looked at. When there is none, that script is run.
set(QUARKQ_ORT_LEAST_API 17)  # several kernels of one operator name, and shape inference
set(ONNXRUNTIME_ROOT "$ENV{ONNXRUNTIME_ROOT}" CACHE PATH "ONNX Runtime's C API: a folder, or onnxruntime_c_api.h itself")
set(_fetched ${PROJECT_SOURCE_DIR}/build/deps/onnxruntime)
file(GLOB _seen CONFIGURE_DEPENDS ${_fetched}/include/*.h)  # headers that appear later are found by the next build
set(_root ${ONNXRUNTIME_ROOT})
if(_root AND NOT IS_DIRECTORY ${_root})
  get_filename_component(_root ${_root} DIRECTORY)
endif()
option(QUARKQ_FETCH_ORT_HEADERS "Fetch ONNX Runtime's C API header where it is not found" ON)
macro(_find_header)
  find_path(QUARKQ_ORT_INCLUDE onnxruntime_c_api.h HINTS ${_root} ${_fetched} NO_CACHE NO_CMAKE_FIND_ROOT_PATH
    PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session onnxruntime/core/session onnxruntime)
endmacro()
_find_header()
if(NOT QUARKQ_ORT_INCLUDE AND QUARKQ_FETCH_ORT_HEADERS)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/third_party/onnxruntime/fetch_headers.sh ${_fetched} TIMEOUT 120
    RESULT_VARIABLE _status OUTPUT_QUIET ERROR_VARIABLE _why)
  _find_header()
endif()
if(NOT QUARKQ_ORT_INCLUDE)
  string(REGEX REPLACE "\n.*" "" _why "${_why}")
  message(WARNING "libquarkq_ort_ops.so is left out: onnxruntime_c_api.h was not found, and fetching it failed or is switched off "
                  "(${_status} ${_why}). Set ONNXRUNTIME_ROOT, or run third_party/onnxruntime/fetch_headers.sh build/deps/onnxruntime")
  return()
endif()
file(STRINGS ${QUARKQ_ORT_INCLUDE}/onnxruntime_c_api.h _version REGEX "^#define ORT_API_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" _version "${_version}")
if(NOT _version GREATER_EQUAL QUARKQ_ORT_LEAST_API)
  message(STATUS "libquarkq_ort_ops.so is left out: ${QUARKQ_ORT_INCLUDE}/onnxruntime_c_api.h has API version "
                 "'${_version}', ${QUARKQ_ORT_LEAST_API} (ONNX Runtime 1.17) or newer is needed")
  return()
endif()
message(STATUS "libquarkq_ort_ops.so: ONNX Runtime API ${_version}, ${QUARKQ_ORT_INCLUDE}")
add_library(quarkq_onnxruntime INTERFACE)
target_include_directories(quarkq_onnxruntime SYSTEM INTERFACE ${QUARKQ_ORT_INCLUDE})
if(WIN32)
  target_compile_definitions(quarkq_onnxruntime INTERFACE _stdcall=__stdcall _Frees_ptr_opt_=)  # what only Microsoft's compiler knows
endif()
