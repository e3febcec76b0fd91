# The sources of the cuda back end, compiled by the C++ compiler against the stand-in for the toolkit in tests/emu, run
# without a GPU: same tests on both back ends, cpu says what is right.
# A build with sanitizers leaves it out, since it takes a fifth of that build, unless it is asked for (cmake -DMF_EMULATOR=ON):
# the emulator of every build closes the ends of arrays (emu/runtime.cc).
set(emulator ON)
if(MF_SANITIZE)
  set(emulator OFF)
endif()
option(MF_EMULATOR "tests run the cuda back end on the emulator" ${emulator})
if(NOT MF_EMULATOR)
  return()
endif()
include(CheckLanguage)
check_language(CXX)
get_property(sources GLOBAL PROPERTY MF_CUDA_SOURCES)
get_property(shared GLOBAL PROPERTY MF_CUDA_SHARED)

# Skipped by name: tests that this machine has no compiler for.
function(mf_skip name why)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${why}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: " LABELS cuda)
endfunction()

# nvcc takes the sources: what it warns of is an error (MF_WERROR). The library has all names that it wants of us (kernels/host.h).
get_property(built GLOBAL PROPERTY MF_CUDA_BUILT)
if(built)
  add_test(NAME cuda_compile COMMAND sh -c "'${CMAKE_COMMAND}' --build '${PROJECT_BINARY_DIR}' --target mesoforge_cuda &&
    ! nm -D --undefined-only '$<TARGET_FILE:mesoforge_cuda>' | grep -E ' (mf_|_Z.*mf_)'")
  set_tests_properties(cuda_compile PROPERTIES TIMEOUT 600 LABELS cuda RESOURCE_LOCK build) # packaging builds, too
else()
  mf_skip(cuda_compile "the cuda back end is not built here")
endif()

set(MF_EMU_TESTS here move field flux optim labels segment single corr lines together packed vgg patch space)
if(NOT CMAKE_CXX_COMPILER)
  foreach(name ${MF_EMU_TESTS})
    mf_skip(cuda_${name} "no C++ compiler for the emulator")
  endforeach()
  return()
endif()
enable_language(CXX)

function(mf_emu_library name kind)
  add_library(${name} ${kind} ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/emu)
  target_compile_options(${name} PRIVATE $<$<NOT:$<BOOL:${MF_SANITIZE}>>:-O2> -fopenmp-simd -ffp-contract=off -fno-strict-aliasing
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>) # arrays whose length is the number of phases
  set_target_properties(${name} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
endfunction()
set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX)
mf_emu_library(emu_cudart SHARED emu/fiber.cc emu/grid.cc emu/memory.cc emu/runtime.cc emu/tensor.cc)
mf_emu_library(mesoforge_cuda_emu MODULE ${sources} ${shared} ${PROJECT_SOURCE_DIR}/kernels/slices/slices.c)
target_compile_options(mesoforge_cuda_emu PRIVATE -fvisibility=hidden)
target_link_libraries(mesoforge_cuda_emu PRIVATE emu_cudart)

# The libraries that networks call.
mf_emu_library(emu_cublaslt MODULE emu/cublaslt.cc)
mf_emu_library(emu_cudnn MODULE emu/cudnn.cc)
target_link_libraries(emu_cublaslt PRIVATE emu_cudart)
target_link_libraries(emu_cudnn PRIVATE emu_cudart)
set(MF_EMU_LIBRARIES MF_CUBLASLT_LIBRARY=$<TARGET_FILE:emu_cublaslt> MF_CUDNN_LIBRARY=$<TARGET_FILE:emu_cudnn>)
if(built) # our declarations of them are those of their headers
  get_property(headers GLOBAL PROPERTY MF_CUDA_HEADERS)
  add_library(cuda_abi OBJECT unit/cuda_abi.cc)
  target_include_directories(cuda_abi SYSTEM PRIVATE ${headers})
endif()

# mf_emu_test(field): unit/cuda_field.c, with the threads of a block in three orders; of MIXED and SLOW ones, and under
# sanitizers, two in the configuration long alone; of SLOW ones under sanitizers all. Label cuda.
function(mf_emu_test name)
  cmake_parse_arguments(T "MIXED;SLOW" "TIMEOUT;ROOM" "ARGS;ENV" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  if(NOT T_ROOM)
    set(T_ROOM mf_kernels)
  endif()
  add_executable(cuda_${name} unit/cuda_${name}.c)
  target_link_libraries(cuda_${name} PRIVATE ${T_ROOM})
  target_compile_options(cuda_${name} PRIVATE ${MF_TEST_CODE})
  add_dependencies(cuda_${name} mesoforge_cuda_emu old_backend)
  foreach(order forward reverse mixed)
    set(when)
    if((NOT order STREQUAL mixed AND (T_MIXED OR T_SLOW OR MF_SANITIZE)) OR (T_SLOW AND MF_SANITIZE))
      set(when CONFIGURATIONS long)
    endif()
    add_test(NAME cuda_${name}_${order} COMMAND cuda_${name} ${T_ARGS} ${when})
    set_tests_properties(cuda_${name}_${order} PROPERTIES TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77 LABELS cuda
      ENVIRONMENT "${MF_TEST_ENV};MF_EMU_ORDER=${order};MF_CUDA_LIBRARY=$<TARGET_FILE:mesoforge_cuda_emu>;${T_ENV}")
  endforeach()
endfunction()

add_library(old_backend MODULE tool/old_backend.c)
mf_emu_test(here ARGS $<TARGET_FILE:old_backend>)
mf_emu_test(move)
mf_emu_test(field)
mf_emu_test(flux)
mf_emu_test(optim)
mf_emu_test(labels)
mf_emu_test(segment)
mf_emu_test(single MIXED)
mf_emu_test(packed SLOW)
mf_emu_test(vgg SLOW)
mf_emu_test(patch)
mf_emu_test(space MIXED)
mf_emu_test(lines MIXED)
mf_emu_test(together MIXED)
mf_emu_test(corr SLOW)
