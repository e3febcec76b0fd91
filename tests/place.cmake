mf_test(NAME place_parts SOURCE unit/place_parts.c ROOM mf_place)
mf_test(NAME place_spread SOURCE unit/place_spread.c ROOM mf_place)
mf_test(NAME place_map SOURCE unit/place_map.c ROOM mf_place ARGS ${PROJECT_SOURCE_DIR}/examples/hardware)
add_test(NAME cli_map COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/map.py $<TARGET_FILE:mesoforge> ${PROJECT_SOURCE_DIR}/examples/hardware
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language ${MF_MPIEXEC})
set_tests_properties(cli_map PROPERTIES TIMEOUT 300 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
