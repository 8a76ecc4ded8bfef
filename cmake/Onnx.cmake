# SPDX-License-Identifier: MIT
# quarkq::onnx: the onnx C++ library, static, built by third_party/onnx/build.sh (or a system ONNX >= 1.23).
# The package's own CMake files neither find Protobuf nor name their include folder, and Debian's libonnx-dev 1.12 would
# win in /usr/include, so the target is made here with its include folder first, and what headers and library say is tried.
if(SKBUILD AND NOT EXISTS ${QUARKQ_ONNX_ROOT}/lib)  # pip builds a source archive: nobody has run the script
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/third_party/onnx/build.sh ${QUARKQ_ONNX_ROOT} COMMAND_ERROR_IS_FATAL ANY)
endif()
find_library(QUARKQ_ONNX_LIB onnx PATHS ${QUARKQ_ONNX_ROOT}/lib NO_DEFAULT_PATH)
add_library(quarkq_onnx INTERFACE)
if(QUARKQ_ONNX_LIB)
  target_include_directories(quarkq_onnx BEFORE INTERFACE ${QUARKQ_ONNX_ROOT}/include)
  target_link_libraries(quarkq_onnx INTERFACE ${QUARKQ_ONNX_LIB} protobuf::libprotobuf)
else()
  find_package(ONNX 1.23 QUIET)
  if(NOT ONNX_FOUND)
    message(FATAL_ERROR "the onnx library is not built yet: run third_party/onnx/build.sh ${QUARKQ_ONNX_ROOT} "
                        "(quickstart.sh does), or install ONNX >= 1.23 with its CMake package")
  endif()
  target_link_libraries(quarkq_onnx INTERFACE ONNX::onnx protobuf::libprotobuf)
endif()
target_compile_definitions(quarkq_onnx INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)
target_compile_options(quarkq_onnx INTERFACE -Wno-unused-parameter -Wno-shadow -Wno-pedantic)

if(NOT DEFINED QUARKQ_ONNX_OPSET)
  file(WRITE ${PROJECT_BINARY_DIR}/onnx_opset.cpp "#include <iostream>\n#include <onnx/defs/schema.h>\n"
    "int main() { std::cout << onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(\"\").second; }\n")
  get_target_property(_onnx_inc quarkq_onnx INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(_onnx_libs quarkq_onnx INTERFACE_LINK_LIBRARIES)
  try_run(QUARKQ_ONNX_RUN QUARKQ_ONNX_COMPILED ${PROJECT_BINARY_DIR}/onnx_opset ${PROJECT_BINARY_DIR}/onnx_opset.cpp
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${_onnx_inc}" COMPILE_DEFINITIONS -DONNX_ML=1 -DONNX_NAMESPACE=onnx
    LINK_LIBRARIES ${_onnx_libs} CXX_STANDARD 20 RUN_OUTPUT_VARIABLE QUARKQ_ONNX_OPSET_FOUND
    COMPILE_OUTPUT_VARIABLE QUARKQ_ONNX_LOG)
  if(NOT QUARKQ_ONNX_COMPILED OR NOT QUARKQ_ONNX_OPSET_FOUND GREATER_EQUAL 28)
    message(FATAL_ERROR "the onnx library found is not usable (opset '${QUARKQ_ONNX_OPSET_FOUND}', need >= 28):\n${QUARKQ_ONNX_LOG}")
  endif()
  set(QUARKQ_ONNX_OPSET ${QUARKQ_ONNX_OPSET_FOUND} CACHE INTERNAL "newest ai.onnx opset of the onnx library")
endif()
message(STATUS "onnx library: opset ${QUARKQ_ONNX_OPSET}")
