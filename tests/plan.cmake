# A library that stands in for the driver's, under its name; tests find it by LD_LIBRARY_PATH.
add_library(fake_nvml SHARED tool/fake_nvml.c)
set_target_properties(fake_nvml PROPERTIES OUTPUT_NAME nvidia-ml SUFFIX .so.1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml C_VISIBILITY_PRESET hidden)
target_compile_options(fake_nvml PRIVATE -Wno-missing-prototypes)

mf_test(NAME plan_bind SOURCE unit/plan_bind.c ROOM mf_plan)
mf_test(NAME plan_room SOURCE unit/plan_room.c ROOM mf_plan)
mf_test(NAME plan_workload SOURCE unit/plan_workload.c ROOM mf_plan)
mf_test(NAME plan_nic SOURCE unit/plan_nic.c ROOM mf_plan ARGS ${CMAKE_CURRENT_BINARY_DIR})
mf_test(NAME plan_pin SOURCE unit/plan_pin.c ROOM mf_plan ARGS ${CMAKE_CURRENT_BINARY_DIR})
mf_test(NAME plan_visible SOURCE unit/plan_visible.c ROOM mf_plan)
mf_test(NAME plan_cgroup SOURCE unit/plan_cgroup.c ROOM mf_plan)
mf_test(NAME plan_hardware SOURCE unit/plan_hardware.c ROOM mf_plan ARGS ${PROJECT_SOURCE_DIR}/examples/hardware)
mf_test(NAME plan_nvml SOURCE unit/plan_nvml.c ROOM mf_plan)
mf_test(NAME plan_probe SOURCE unit/plan_probe.c ROOM mf_plan RANKS 1 3)
foreach(name plan_nvml plan_probe_1 plan_probe_3)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/fake_nvml:$ENV{LD_LIBRARY_PATH})
endforeach()
add_dependencies(plan_nvml fake_nvml)
add_dependencies(plan_probe fake_nvml)

add_test(NAME cli_probe COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/probe.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC} ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml $<TARGET_FILE:plan_hardware>)
set(probe_timeout 600)
if(MF_SANITIZE)
  set(probe_timeout 900) # about forty starts of MPI, slow under the leak checker
endif()
set_tests_properties(cli_probe PROPERTIES TIMEOUT ${probe_timeout} SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

add_test(NAME cli_plan COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/plan.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC} ${PROJECT_SOURCE_DIR}/examples/hardware ${CMAKE_CURRENT_SOURCE_DIR}/cli/plan_golden.tsv)
set_tests_properties(cli_plan PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 LABELS cli
  ENVIRONMENT "${MF_TEST_ENV}")

add_test(NAME doctor COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/doctor.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC} ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml)
set_tests_properties(doctor PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME bind COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/bind.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC})
set_tests_properties(bind PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME cli_threads COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/threads.py $<TARGET_FILE:mesoforge>
  ${PROJECT_SOURCE_DIR}/examples/hardware)
set_tests_properties(cli_threads PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME cli_plan_run COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/plan_run.py
  $<TARGET_FILE:mesoforge> ${MF_MPIEXEC} ${PROJECT_SOURCE_DIR}/examples/hardware/h100x8.json)
set_tests_properties(cli_plan_run PROPERTIES TIMEOUT ${probe_timeout} SKIP_RETURN_CODE 77 LABELS cli
  ENVIRONMENT "${MF_TEST_ENV}")
mf_test(NAME train_plan SOURCE unit/train_plan.c ROOM mf_train IN fast RANKS 1 2 3)
add_test(NAME cli_train_plan COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/train_plan.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC} ${PROJECT_SOURCE_DIR}/examples/hardware ${CMAKE_CURRENT_SOURCE_DIR}/cli/train_plan_golden.txt)
set_tests_properties(cli_train_plan PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
