mf_test(NAME cmd_session SOURCE unit/cmd_session.c ROOM mf_cmd RANKS 1 2 3)

# Whole programs: tests/cli/<name>.py MESOFORGE MPIEXEC
foreach(name bench foreign match_io seals sentences terminal)
  add_test(NAME ${name} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.py $<TARGET_FILE:mesoforge>
    ${MF_MPIEXEC})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
endforeach()
