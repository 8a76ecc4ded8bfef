# SPDX-License-Identifier: MIT
# The one place that says which warnings every quarkq source is compiled with.
add_library(quarkq_options INTERFACE)
target_compile_options(quarkq_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  # Results must not depend on whether a compiler contracts a*b+c, nor on reordered float sums.
  -ffp-contract=off -fno-math-errno
  # Messages of failed checks name files as of the project's folder: one commit gives the same bytes wherever it is built.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  # The compiler collects its garbage for the first time at 128 MB otherwise, and often from there on: a fifteenth of its time.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=400000>
  # GCC 12 sees overlapping copies in std::string where there are none.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(WIN32)
  # Visibility: a list of exports decides there (quarkq_export). Formats: GCC checks for those of Microsoft's library, MinGW's are standard.
  target_compile_options(quarkq_options INTERFACE -Wno-attributes -Wno-format)
endif()
if(QUARKQ_WERROR)
  target_compile_options(quarkq_options INTERFACE -Werror)
endif()
target_include_directories(quarkq_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
find_package(OpenMP REQUIRED COMPONENTS CXX)
target_link_libraries(quarkq_options INTERFACE OpenMP::OpenMP_CXX)
