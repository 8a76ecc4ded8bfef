# SPDX-License-Identifier: MIT
# quarkq::quarkq: what other projects link. One shared library made of all layers, so that their packages stay inside.
add_library(quarkq_shared SHARED ${PROJECT_SOURCE_DIR}/cmake/library_stub.cpp)
add_library(quarkq::quarkq ALIAS quarkq_shared)
target_link_libraries(quarkq_shared PRIVATE -Wl,--whole-archive quarkq_pipeline quarkq_tuning quarkq_c_api -Wl,--no-whole-archive)
target_include_directories(quarkq_shared PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(quarkq_shared PUBLIC cxx_std_20)
set_target_properties(quarkq_shared PROPERTIES OUTPUT_NAME quarkq EXPORT_NAME quarkq
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} EXCLUDE_FROM_ALL OFF)
if(WIN32)
  # The C interface only: compilers of Windows do not agree on names and exceptions of C++.
  quarkq_export(quarkq_shared ${PROJECT_SOURCE_DIR}/include/quarkq/c_api.h QUARKQ_C_EXPORT)
else()
  set(exports ${PROJECT_SOURCE_DIR}/cmake/library_exports.map)
  target_link_options(quarkq_shared PRIVATE LINKER:--version-script=${exports} LINKER:--gc-sections LINKER:--as-needed)
  set_target_properties(quarkq_shared PROPERTIES LINK_DEPENDS ${exports})
endif()
