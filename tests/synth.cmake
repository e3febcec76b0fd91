mf_test(NAME synth_ranks SOURCE unit/synth_ranks.c ROOM mf_synth RANKS 1 2 3 4 7)
mf_test(NAME synth_truth SOURCE unit/synth_truth.c ROOM mf_synth IN fast)
mf_test(NAME synth_refuse SOURCE unit/synth_refuse.c ROOM mf_synth)
add_test(NAME cli_synth COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/cli/synth.sh $<TARGET_FILE:mesoforge> ${MF_MPIEXEC}
  ${CMAKE_CURRENT_BINARY_DIR}/cli_synth)
set_tests_properties(cli_synth PROPERTIES TIMEOUT 600 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME scripts COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/scripts.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(scripts PROPERTIES TIMEOUT 300 LABELS house)
