# SPDX-License-Identifier: MIT
# Every outside package, found once. Versions and reasons: docs/architecture.md.
find_package(Threads REQUIRED)
find_package(dnnl REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ZLIB REQUIRED)
find_path(QUARKQ_XXHASH_DIR xxhash.h REQUIRED)
find_path(QUARKQ_STB_DIR stb_image.h PATH_SUFFIXES stb REQUIRED)
# spdlog and fmt as headers only: Debian's target of spdlog links libfmt, which a machine without the packages lacks.
add_library(quarkq_spdlog INTERFACE)
if(WIN32)  # third_party/windows/build.sh copies headers only
  find_path(QUARKQ_SPDLOG_DIR spdlog/spdlog.h REQUIRED)
  set(_spdlog_include ${QUARKQ_SPDLOG_DIR})
else()
  find_package(spdlog REQUIRED)
  get_target_property(_spdlog_include spdlog::spdlog_header_only INTERFACE_INCLUDE_DIRECTORIES)
endif()
target_include_directories(quarkq_spdlog SYSTEM INTERFACE ${_spdlog_include})
target_compile_definitions(quarkq_spdlog INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY
  $<$<PLATFORM_ID:Windows>:SPDLOG_WCHAR_FILENAMES>)  # names of files as std::filesystem::path stores them
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
