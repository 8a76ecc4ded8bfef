# SPDX-License-Identifier: MIT
# quarkq_add_layer(NAME USES layers... PACKAGES targets...)
#   One static library per folder of src/: every .cpp below the folder belongs to it, so a new file edits no build file.
#   Files named *.isa.cpp hold vectorized loops. They are compiled once per instruction set, each time with QQ_ISA set
#   to the namespace that the code goes into; base/isa.h picks one at run time.
#   The uses named here are what tests/lint/layers.py allows the folder's includes to name.
# Layers whose loops over tensors take no time that a user sees: -O1 takes a quarter to a half off their compile time (a group of
# pipeline 12.8 instead of 19.4 s, of config 4.2 instead of 7.9, of rewrite 7.7 instead of 10.7).
set(QUARKQ_COLD_LAYERS ir config targets onnx_io plan pass rewrite planning qdq pipeline tuning c_api)
set(QUARKQ_COLD_FLAGS $<$<CONFIG:Release>:-O1>)
if(QUARKQ_SANITIZE)
  set(QUARKQ_LOOP_FLAGS -O1)
else()
  set(QUARKQ_LOOP_FLAGS -O3)
endif()
if(WIN32)
  set(QUARKQ_OTHER_PLATFORM posix)
else()
  set(QUARKQ_OTHER_PLATFORM windows)
endif()
set(QUARKQ_ISA_FLAGS_sse41 -msse4.1)
set(QUARKQ_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(QUARKQ_ISA_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)

# quarkq_export(TARGET HEADER MARK): on Windows the library exports the functions that HEADER declares with MARK, and nothing else.
function(quarkq_export target header mark)
  file(STRINGS ${header} lines REGEX "${mark} .*\\(")
  set(text "EXPORTS\n")
  foreach(line ${lines})
    string(REGEX MATCH "([A-Za-z_0-9]+)\\(" found "${line}")
    set(name "${CMAKE_MATCH_1}")  # the next match replaces it
    if(name AND NOT line MATCHES "^#")
      string(APPEND text "  ${name}\n")
    endif()
  endforeach()
  set(definitions ${PROJECT_BINARY_DIR}/${target}.def)
  file(CONFIGURE OUTPUT ${definitions} CONTENT "${text}" @ONLY)
  target_sources(${target} PRIVATE ${definitions})
  set_target_properties(${target} PROPERTIES PREFIX "")
  target_link_options(${target} PRIVATE LINKER:--exclude-all-symbols)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
endfunction()

function(quarkq_add_layer name)
  cmake_parse_arguments(ARG "" "" "USES;PACKAGES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  # base/platform: one folder for each system, and what belongs to the program only.
  list(FILTER sources EXCLUDE REGEX "/platform/(program|${QUARKQ_OTHER_PLATFORM})/")
  set(isa_sources ${sources})
  list(FILTER isa_sources INCLUDE REGEX "\\.isa\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "\\.isa\\.cpp$")
  add_library(quarkq_${name} STATIC ${sources})
  if(CMAKE_UNITY_BUILD)
    # Larger than the preset groups: headers are most of what is compiled here. Tests are larger, and change more often.
    set_target_properties(quarkq_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 12)
  endif()
  target_link_libraries(quarkq_${name} PUBLIC quarkq_options)
  foreach(layer ${ARG_USES})
    target_link_libraries(quarkq_${name} PUBLIC quarkq_${layer})
  endforeach()
  target_link_libraries(quarkq_${name} PRIVATE ${ARG_PACKAGES})
  if(name IN_LIST QUARKQ_COLD_LAYERS)
    target_compile_options(quarkq_${name} PRIVATE ${QUARKQ_COLD_FLAGS})
  endif()
  if(isa_sources)
    foreach(isa sse41 avx2 avx512)
      add_library(quarkq_${name}_${isa} OBJECT ${isa_sources})
      set_target_properties(quarkq_${name}_${isa} PROPERTIES UNITY_BUILD OFF)
      target_link_libraries(quarkq_${name}_${isa} PRIVATE quarkq_options)
      target_compile_options(quarkq_${name}_${isa} PRIVATE ${QUARKQ_ISA_FLAGS_${isa}} -fopenmp-simd ${QUARKQ_LOOP_FLAGS}
        -fno-trapping-math)  # exception flags are never read; without this GCC 12 leaves loops with a choice in them scalar
      target_compile_definitions(quarkq_${name}_${isa} PRIVATE QQ_ISA=${isa})
      target_sources(quarkq_${name} PRIVATE $<TARGET_OBJECTS:quarkq_${name}_${isa}>)
    endforeach()
  endif()
endfunction()
