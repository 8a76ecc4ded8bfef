# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packing needs no tests; scripts build what they pack
install(TARGETS quarkq RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS quarkq_shared EXPORT quarkqTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/quarkq DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT quarkqTargets NAMESPACE quarkq:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarkq)
configure_package_config_file(cmake/quarkqConfig.cmake.in ${PROJECT_BINARY_DIR}/quarkqConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarkq)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/quarkqConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quarkqConfig.cmake ${PROJECT_BINARY_DIR}/quarkqConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarkq)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/quarkq RENAME copyright)
install(FILES CHANGELOG.md README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/quarkq)

# What the wheel holds beside python/quarkq (pyproject.toml); no part of `cmake --install`.
if(WIN32)
  set(library_name quarkq.dll)
else()
  set(library_name libquarkq.so)
endif()
install(FILES $<TARGET_FILE:quarkq_shared> DESTINATION quarkq/lib RENAME ${library_name} COMPONENT python EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_FILE:quarkq> DESTINATION quarkq/bin COMPONENT python EXCLUDE_FROM_ALL)
if(TARGET quarkq_ort_ops_shared)
  install(FILES $<TARGET_FILE:quarkq_ort_ops_shared> DESTINATION quarkq/lib COMPONENT python EXCLUDE_FROM_ALL)
endif()

# The licences of the libraries that auditwheel copies into the wheel.
foreach(package libdnnl2 libdnnl3 libprotobuf32 libprotobuf32t64 libyaml-cpp0.7 libyaml-cpp0.8 ocl-icd-libopencl1 libgomp1)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION quarkq/licenses RENAME ${package}.txt COMPONENT python EXCLUDE_FROM_ALL)
  endif()
endforeach()

# Completion scripts and the manual page: the program writes them itself.
if(NOT QUARKQ_SANITIZE AND NOT WIN32)
  set(texts ${PROJECT_BINARY_DIR}/share)
  set(quarkq_texts)
  foreach(text "completion bash|bash-completion/completions/quarkq" "completion zsh|zsh/site-functions/_quarkq"
      "completion fish|fish/vendor_completions.d/quarkq.fish" "man|man/man1/quarkq.1")
    string(REPLACE "|" ";" text "${text}")
    list(GET text 0 verb)
    list(GET text 1 file)
    separate_arguments(verb)
    get_filename_component(folder ${file} DIRECTORY)
    file(MAKE_DIRECTORY ${texts}/${folder})
    add_custom_command(OUTPUT ${texts}/${file} COMMAND quarkq ${verb} > ${texts}/${file} DEPENDS quarkq)
    list(APPEND quarkq_texts ${texts}/${file})
  endforeach()
  add_custom_target(quarkq_texts ALL DEPENDS ${quarkq_texts})
  install(DIRECTORY ${texts}/ DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()
