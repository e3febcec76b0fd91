# Rules about the sources themselves.
add_test(NAME rooms COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/rooms.sh ${PROJECT_SOURCE_DIR} --self-test)
add_test(NAME format COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/format.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(rooms format PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77 LABELS house)
