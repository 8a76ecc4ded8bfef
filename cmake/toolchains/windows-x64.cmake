# SPDX-License-Identifier: MIT
# Cross compiler for Windows x64: Debian's g++-mingw-w64-x86-64-posix. scripts/build_windows.sh and third_party/windows/build.sh use it.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_VERSION 10.0)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(_prefix x86_64-w64-mingw32)
set(CMAKE_C_COMPILER ${_prefix}-gcc-posix)
set(CMAKE_CXX_COMPILER ${_prefix}-g++-posix)
set(CMAKE_RC_COMPILER ${_prefix}-windres)
set(CMAKE_AR ${_prefix}-gcc-ar-posix)
set(CMAKE_RANLIB ${_prefix}-gcc-ranlib-posix)

list(APPEND CMAKE_FIND_ROOT_PATH /usr/${_prefix})  # after the folder of third_party/windows/build.sh
list(REMOVE_DUPLICATES CMAKE_FIND_ROOT_PATH)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()

# Windows 10 is the oldest system that is supported.
set(_defines "-D_WIN32_WINNT=0x0A00 -DWINVER=0x0A00 -DNOMINMAX -DWIN32_LEAN_AND_MEAN -D__USE_MINGW_ANSI_STDIO=1")
# Windows aligns the stack to 16 bytes and GCC does not align it further for AVX (GCC bug 54412), so an aligned move of a 32-byte variable on
# the stack faults. The assembler encodes every aligned move as an unaligned one, which has the same speed on aligned data.
set(CMAKE_C_FLAGS_INIT "${_defines} -Wa,-muse-unaligned-vector-move")
set(CMAKE_CXX_FLAGS_INIT "${_defines} -Wa,-muse-unaligned-vector-move")
# CMake would find the import library, which loads a DLL of the compiler.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libgomp.a OUTPUT_VARIABLE _gomp OUTPUT_STRIP_TRAILING_WHITESPACE)
set(OpenMP_gomp_LIBRARY ${_gomp} CACHE FILEPATH "OpenMP's runtime, static")
# The stack of Linux: readers of deep models recurse.
set(_stack "-Wl,--stack,8388608")
# No DLL of the compiler next to the program, and no time in the headers of files.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-static -fopenmp -Wl,--no-insert-timestamp ${_stack}")
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/lib/wine/wine64)
