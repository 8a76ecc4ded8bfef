# SPDX-License-Identifier: MIT
# What scripts/build_packages.sh packs with CPack: a Debian package and an archive of what `cmake --install` installs.
set(CPACK_GENERATOR DEB TZST)
set(CPACK_PACKAGE_NAME quarkq)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "native quantizer of ONNX models for AMD NPU tool chains")
set(CPACK_PACKAGE_DESCRIPTION "Turns float ONNX models into the quantized ones that Vitis AI, Ryzen AI and ONNX Runtime take.
The package has the program, its library with headers, and the operators of com.amd.quark for ONNX Runtime.")
set(CPACK_PACKAGE_CONTACT "the quarkq authors <quarkq@invalid>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_SOURCE_DIR}/dist)
set(CPACK_STRIP_FILES ON)
set(CPACK_CMAKE_GENERATOR Ninja)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_ARCHIVE_FILE_NAME quarkq-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_FILE_NAME ${CPACK_ARCHIVE_FILE_NAME})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # names the packages of the libraries that the files were linked with
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
