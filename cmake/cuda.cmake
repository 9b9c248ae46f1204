# CUDA headers and libdevice come from the toolkit; libcuda itself is opened at run time.
add_library(llfuse_cuda_headers INTERFACE)
find_package(CUDAToolkit QUIET)
set(LLFUSE_CUDA OFF)
if(CUDAToolkit_FOUND)
  find_file(LIBDEVICE_BC libdevice.10.bc
            HINTS ${CUDAToolkit_LIBRARY_ROOT}/nvvm/libdevice ${CUDAToolkit_BIN_DIR}/../nvvm/libdevice
                  /usr/lib/nvidia-cuda-toolkit/libdevice NO_DEFAULT_PATH)
  if(LIBDEVICE_BC)
    set(LLFUSE_CUDA ON)
    target_include_directories(llfuse_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    message(STATUS "CUDA toolkit ${CUDAToolkit_VERSION}, ${LIBDEVICE_BC}")
  endif()
endif()
if(LLFUSE_CUDA)
  target_compile_definitions(llfuse_cuda_headers INTERFACE LLFUSE_CUDA=1)
else()
  message(WARNING "No CUDA toolkit (headers and libdevice): building the CPU target alone. "
                  "The target nvptx will answer E_TARGET.")
endif()
