# Properties of volumes.
mf_test(NAME prop_conduct SOURCE unit/prop_conduct.c ROOM mf_prop RANKS 1 2 3 4)
mf_test(NAME prop_elastic SOURCE unit/prop_elastic.c ROOM mf_prop RANKS 1 2 3 4)
add_test(NAME cli_properties COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/properties.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC})
set_tests_properties(cli_properties PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME cli_match_property COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/match_property.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC})
set_tests_properties(cli_match_property PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
