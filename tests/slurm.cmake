mf_test(NAME slurm_words SOURCE unit/slurm_words.c ROOM mf_slurm ARGS ${CMAKE_CURRENT_BINARY_DIR})
mf_test(NAME slurm_launcher SOURCE unit/slurm_launcher.c ROOM mf_slurm)
mf_test(NAME slurm_nodelist SOURCE unit/slurm_nodelist.c ROOM mf_slurm)

add_test(NAME cli_launch COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/launch.py $<TARGET_FILE:mesoforge>
  ${PROJECT_SOURCE_DIR}/examples/hardware/h100x8.json)
add_test(NAME cli_launch_scripts COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/launch_scripts.py $<TARGET_FILE:mesoforge>)
set_tests_properties(cli_launch cli_launch_scripts PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

add_test(NAME cli_deploy COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/deploy.py $<TARGET_FILE:mesoforge> ${PROJECT_SOURCE_DIR}/examples/hardware
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language ${CMAKE_CURRENT_SOURCE_DIR}/cli/deploy_lines.txt ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml)
set_tests_properties(cli_deploy PROPERTIES TIMEOUT 300 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

# As root, where Slurm is installed; else skipped, with the reason.
add_library(starting MODULE tool/starting.c)
set_target_properties(starting PROPERTIES PREFIX "")
target_compile_options(starting PRIVATE -Wno-missing-prototypes -fno-sanitize=all) # Slurm's programs load it too
target_link_options(starting PRIVATE -fno-sanitize=all)
target_link_libraries(starting PRIVATE ${CMAKE_DL_LIBS})
add_test(NAME slurm COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/slurm.py $<TARGET_FILE:mesoforge>
  ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml $<TARGET_FILE:starting>)
set_tests_properties(slurm PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli)
# mpirun over two virtual hosts: as root.
add_test(NAME hosts COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/hosts.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC})
set_tests_properties(hosts PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli)
# How jobs end is the launchers' there, to the second.
set_tests_properties(slurm hosts PROPERTIES ENVIRONMENT "${MF_TEST_ENV};OMPI_MCA_odls_base_sigkill_timeout=1")

add_test(NAME jobs COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/jobs.py $<TARGET_FILE:mesoforge>
  ${PROJECT_SOURCE_DIR}/slurm)
set_tests_properties(jobs PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
