# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)
install(TARGETS quarkq RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS quarkq_shared EXPORT quarkqTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/quarkq DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT quarkqTargets NAMESPACE quarkq:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarkq)
configure_package_config_file(cmake/quarkqConfig.cmake.in ${PROJECT_BINARY_DIR}/quarkqConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarkq)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/quarkqConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quarkqConfig.cmake ${PROJECT_BINARY_DIR}/quarkqConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarkq)

# Completion scripts and the manual page: the program writes them itself.
if(NOT QUARKQ_SANITIZE)
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
