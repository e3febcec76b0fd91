# Rules about the sources themselves.
add_test(NAME rooms COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/rooms.sh ${PROJECT_SOURCE_DIR} --self-test)
add_test(NAME format COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/format.sh ${PROJECT_SOURCE_DIR})
add_test(NAME lint_remembers COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint_remembers.sh)
set_tests_properties(rooms format lint_remembers PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77 LABELS house)
