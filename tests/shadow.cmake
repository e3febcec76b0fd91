# The tests on --device shadow: cpu's kernels behind closed memory (kernels/shadow). Label shadow.
#
# In every run: the tests of what touches device memory (kernels, optimiser, slabs and slices, golden losses), and `shadow`,
# which compares whole runs of match and characterize on shadow, and runs that were stopped on one and go on on the other,
# with the bits of cpu. What other tests of whole programs say of cpu then holds on shadow; they run there too with
#     ctest -C shadow -L shadow
# and not by default, as they take their time once more. Not on shadow: tests of files, options, help, generators and
# hardware, where no kernel runs.
set(MF_SHADOW_ENV ${MF_TEST_ENV} MF_TEST_DEVICE=shadow)

# mf_shadow(NAME ...): tests that exist already and look at MF_TEST_DEVICE (tests/device.h), once more.
function(mf_shadow name target)
  cmake_parse_arguments(T "" "TIMEOUT" "RANKS" ${ARGN})
  mf_in(in fast) # the checks of sanitizers are of the host's memory, and find the same on cpu
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  if(NOT T_RANKS)
    add_test(NAME ${name}_shadow COMMAND ${target} ${in})
    set(tests ${name}_shadow)
  endif()
  if(MF_SANITIZE AND 3 IN_LIST T_RANKS) # as mf_test
    list(REMOVE_ITEM T_RANKS 2 4)
  endif()
  foreach(n ${T_RANKS})
    add_test(NAME ${name}_shadow_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:${target}> ${in})
    list(APPEND tests ${name}_shadow_${n})
  endforeach()
  set_tests_properties(${tests} PROPERTIES TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "unit;shadow"
    ENVIRONMENT "${MF_SHADOW_ENV}")
endfunction()
mf_shadow(mpi_redistribute mpi_redistribute RANKS 1 3)
mf_shadow(mpi_slab mpi_slab RANKS 1 3)
mf_shadow(mpi_arrays mpi_arrays RANKS 1 2 3 4)
mf_shadow(optim_methods optim_methods)
mf_shadow(kernels_meanfield kernels_meanfield)
mf_shadow(net_ops net_ops)
mf_shadow(net_optim net_optim)
mf_shadow(net_place net_place)
mf_shadow(model_run model_run)
mf_shadow(prop_conduct prop_conduct RANKS 1 2)
set_tests_properties(model_run_shadow PROPERTIES ENVIRONMENT "${MF_SHADOW_ENV};GLIBC_TUNABLES=glibc.malloc.tcache_count=0")
mf_shadow(train_offload train_offload RANKS 1 3)
foreach(n 1 2)
  add_test(NAME gen_engine_shadow_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:gen_engine> ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language gpt2)
  set_tests_properties(gen_engine_shadow_${n} PROPERTIES TIMEOUT 300 LABELS "unit;shadow" ENVIRONMENT "${MF_SHADOW_ENV}")
endforeach()
mf_shadow(train_learn train_learn RANKS 3)
mf_shadow(train_distil train_distil RANKS 2)
mf_shadow(moe_look moe_look)
mf_shadow(moe_sleep moe_sleep TIMEOUT 300)
mf_shadow(recon_select recon_select RANKS 1 3)
mf_shadow(train_plan train_plan RANKS 1 3)
mf_shadow(train_parts train_parts RANKS 3)
mf_shadow(train_steps train_steps TIMEOUT 300 RANKS 1 3)
# Families side by side with cpu: the tests of the other device.
foreach(family move field flux optim labels segment single corr)
  if(TARGET cuda_${family})
    mf_shadow(kernels_${family} cuda_${family} TIMEOUT 300)
  endif()
endforeach()

add_test(NAME shadow COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/shadow.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC})
set_tests_properties(shadow PROPERTIES TIMEOUT 1800 SKIP_RETURN_CODE 77 LABELS "cli;shadow"
  ENVIRONMENT "${MF_TEST_ENV}")

# Tests of the program with a script in its place that adds --device.
list(APPEND MF_SHADOW_ENV PROGRAM=$<TARGET_FILE:mesoforge>)
set(on_device ${CMAKE_CURRENT_SOURCE_DIR}/tool/on_device.sh)
add_test(NAME golden_losses_shadow COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/golden_losses.py
  ${on_device} ${PROJECT_SOURCE_DIR}/../shared 1)
add_test(NAME made_losses_shadow COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/golden_losses.py
  ${on_device} ${CMAKE_CURRENT_SOURCE_DIR}/data 1)
set_tests_properties(golden_losses_shadow made_losses_shadow PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "golden;shadow"
  ENVIRONMENT "${MF_SHADOW_ENV}")
foreach(name log_view loss_default recon_ranks recon_refusals recon_result restart foreign)
  add_test(NAME ${name}_shadow COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.py ${on_device}
    ${MF_MPIEXEC} CONFIGURATIONS shadow)
  list(APPEND whole ${name}_shadow)
endforeach()
add_test(NAME cli_characterize_shadow COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/characterize.py ${on_device}
  ${MF_MPIEXEC} CONFIGURATIONS shadow)
add_test(NAME cli_view_shadow COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/view.py ${on_device} ${MF_MPIEXEC}
  ${CMAKE_CURRENT_BINARY_DIR}/cli_view_shadow CONFIGURATIONS shadow)
add_test(NAME smoke_shadow COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/smoke.sh ${on_device} ${MF_MPIEXEC}
  ${CMAKE_CURRENT_BINARY_DIR}/smoke_shadow 1 3 CONFIGURATIONS shadow)
set_tests_properties(${whole} cli_characterize_shadow cli_view_shadow smoke_shadow PROPERTIES TIMEOUT 3600
  SKIP_RETURN_CODE 77 LABELS "cli;shadow" ENVIRONMENT "${MF_SHADOW_ENV}")
