# Refusals by tests/cli/refusals.tsv, on 1 to 3 ranks. Under sanitizers those of options that all verbs share, on one.
set(refusals COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/refusals.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC}
  ${CMAKE_CURRENT_SOURCE_DIR}/cli/refusals.tsv ${PROJECT_SOURCE_DIR}/examples/hardware)
if(MF_SANITIZE)
  list(APPEND refusals options --one)
endif()
add_test(NAME refusals ${refusals})
set_tests_properties(refusals PROPERTIES TIMEOUT 600 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

add_test(NAME cli_help COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/help.sh $<TARGET_FILE:mesoforge>)
set_tests_properties(cli_help PROPERTIES TIMEOUT 600 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

# Every verb: on two ranks under sanitizers, on one and on three in a long run.
if(MF_SANITIZE)
  set(smoke_ranks 2)
else()
  set(smoke_ranks 1 3 CONFIGURATIONS long)
endif()
add_test(NAME smoke COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/smoke.sh $<TARGET_FILE:mesoforge> ${MF_MPIEXEC}
  ${CMAKE_CURRENT_BINARY_DIR}/smoke ${smoke_ranks})
set_tests_properties(smoke PROPERTIES TIMEOUT 900 LABELS unit ENVIRONMENT "${MF_TEST_ENV}")

# Sanitizers leave out the label cli, whose tests take many minutes there (a start of MPI takes seconds). These do not,
# and it is in what users and other programs wrote that memory goes wrong.
if(MF_SANITIZE)
  set_tests_properties(foreign log_cut refusals PROPERTIES LABELS unit TIMEOUT 600)
endif()

# The same program with another table of verbs.
add_executable(two_words ${PROJECT_SOURCE_DIR}/src/main.c tool/two_words.c)
target_link_libraries(two_words PRIVATE mf_cmd)
add_test(NAME cli_two_words COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/two_words.py $<TARGET_FILE:two_words>
  ${MF_MPIEXEC} ${PROJECT_SOURCE_DIR}/cmake/man.cmake)
add_test(NAME cli_help_two_words COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/help.sh $<TARGET_FILE:two_words>)
set_tests_properties(cli_two_words cli_help_two_words PROPERTIES TIMEOUT 300 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
