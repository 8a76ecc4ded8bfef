# SPDX-License-Identifier: MIT
if(QUARKQ_SANITIZE)
  add_compile_options(-fsanitize=${QUARKQ_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${QUARKQ_SANITIZE})
endif()
