# SPDX-License-Identifier: MIT
# What makes a fault in this program harder to exploit; tests/e2e/test_trust.py looks for each in what was linked (SECURITY.md).
# Sanitizers bring their own checks. third_party/onnx/build.sh has the same flags.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C CXX)
set(QUARKQ_HARDENING_LINK LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
set(QUARKQ_HARDENING -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND QUARKQ_HARDENING -fcf-protection=full)
endif()
if(WIN32)
  set(QUARKQ_HARDENING -fstack-protector-strong)
  set(QUARKQ_HARDENING_LINK -fstack-protector-strong LINKER:--dynamicbase LINKER:--high-entropy-va LINKER:--nxcompat)
endif()
if(NOT QUARKQ_SANITIZE AND NOT QUARKQ_FUZZER AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")  # FORTIFY needs an optimizing compiler
  add_compile_options(${QUARKQ_HARDENING})
  add_link_options(${QUARKQ_HARDENING_LINK})
endif()
