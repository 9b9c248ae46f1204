add_library(llfuse_options INTERFACE)
target_compile_definitions(llfuse_options INTERFACE _GNU_SOURCE)
target_compile_options(llfuse_options INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla>
  -fno-math-errno -ffp-contract=off -ffunction-sections -fdata-sections)
if(LLFUSE_WERROR)
  target_compile_options(llfuse_options INTERFACE -Werror)
endif()
if(LLFUSE_SANITIZE)
  target_compile_options(llfuse_options INTERFACE -fsanitize=${LLFUSE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(llfuse_options INTERFACE -fsanitize=${LLFUSE_SANITIZE})
endif()
