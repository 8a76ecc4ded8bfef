# SPDX-License-Identifier: MIT
if(QUARKQ_SANITIZE)
  add_compile_options(-fsanitize=${QUARKQ_SANITIZE} -fno-omit-frame-pointer)
  if(QUARKQ_SANITIZE MATCHES undefined)
    # Real numbers that no integer holds: GCC looks for them only when asked by name, Clang always.
    add_compile_options(-fsanitize=float-cast-overflow -fno-sanitize-recover=undefined,float-cast-overflow)
    # A third of the compile time goes into checks that add little here: AddressSanitizer and the processor stop at null pointers and at
    # objects that are not there, misaligned loads are legal on the processors we build for.
    add_compile_options(-fno-sanitize=null,vptr,object-size,alignment)
  endif()
  add_link_options(-fsanitize=${QUARKQ_SANITIZE})
endif()
