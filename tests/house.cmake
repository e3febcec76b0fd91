# Rules about the sources themselves.
add_test(NAME rooms COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/rooms.sh ${PROJECT_SOURCE_DIR} --self-test)
add_test(NAME format COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/format.sh ${PROJECT_SOURCE_DIR})
add_test(NAME bootstrap_says COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bootstrap_says.sh)
add_test(NAME lint_remembers COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint_remembers.sh)
file(GLOB documents RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/docs/*.md)
add_test(NAME names COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/names.sh ${PROJECT_SOURCE_DIR} README.md CONTRIBUTING.md ${documents} --self-test)
add_test(NAME usage COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/usage.sh ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
set_tests_properties(rooms format bootstrap_says lint_remembers names usage PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77 LABELS house)
