# SPDX-License-Identifier: MIT
# Every outside package, found once. Versions and reasons: docs/architecture.md.
find_package(Threads REQUIRED)
find_package(dnnl REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)  # header-only, as fmt: nothing more to load
find_package(Protobuf REQUIRED)
find_package(ZLIB REQUIRED)
find_path(QUARKQ_XXHASH_DIR xxhash.h REQUIRED)
find_path(QUARKQ_STB_DIR stb_image.h PATH_SUFFIXES stb REQUIRED)
add_library(quarkq_stb INTERFACE)
target_include_directories(quarkq_stb SYSTEM INTERFACE ${QUARKQ_STB_DIR})
if(NOT TARGET yaml-cpp::yaml-cpp)  # yaml-cpp 0.7 exports the target without a namespace
  add_library(quarkq_yaml INTERFACE)
  target_link_libraries(quarkq_yaml INTERFACE yaml-cpp)
else()
  add_library(quarkq_yaml INTERFACE)
  target_link_libraries(quarkq_yaml INTERFACE yaml-cpp::yaml-cpp)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/Onnx.cmake)
