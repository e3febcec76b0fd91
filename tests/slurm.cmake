mf_test(NAME slurm_words SOURCE unit/slurm_words.c ROOM mf_slurm ARGS ${CMAKE_CURRENT_BINARY_DIR})
mf_test(NAME slurm_launcher SOURCE unit/slurm_launcher.c ROOM mf_slurm)
mf_test(NAME slurm_nodelist SOURCE unit/slurm_nodelist.c ROOM mf_slurm)

add_test(NAME cli_launch COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/launch.py $<TARGET_FILE:mesoforge>
  ${PROJECT_SOURCE_DIR}/examples/hardware/h100x8.json)
set_tests_properties(cli_launch PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

# As root, where Slurm is installed; else skipped, with the reason.
add_test(NAME slurm COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/slurm.py $<TARGET_FILE:mesoforge>
  ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml)
set_tests_properties(slurm PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
# mpirun over two virtual hosts: as root.
add_test(NAME hosts COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/hosts.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC})
set_tests_properties(hosts PROPERTIES TIMEOUT 300 PROCESSORS 3 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

add_test(NAME jobs COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/jobs.py $<TARGET_FILE:mesoforge>
  ${PROJECT_SOURCE_DIR}/slurm)
set_tests_properties(jobs PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
