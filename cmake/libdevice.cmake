# libdevice, pruned at build time to one small bitcode per function that the emitters call, embedded as C arrays.
add_executable(embed-libdevice tools/embed_libdevice.c)
target_link_libraries(embed-libdevice PRIVATE llfuse_options llfuse_llvm)
set_target_properties(embed-libdevice PROPERTIES LINKER_LANGUAGE CXX)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/generated/libdevice_data.c
  COMMAND embed-libdevice ${LIBDEVICE_BC} ${CMAKE_BINARY_DIR}/generated/libdevice_data.c
  DEPENDS embed-libdevice ${LIBDEVICE_BC} src/target/libdevice.def
  COMMENT "Pruning libdevice")
