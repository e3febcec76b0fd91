# The server.
mf_test(NAME serve_dialect SOURCE unit/serve_dialect.c ROOM mf_serve ARGS 2000)
mf_test(NAME serve_image SOURCE unit/serve_image.c ROOM mf_serve ARGS 2000)
mf_test(NAME serve_desk SOURCE unit/serve_desk.c ROOM mf_serve)
mf_test(NAME serve_chat SOURCE unit/serve_chat.c ROOM mf_serve ARGS ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/chat)
add_test(NAME serve COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/serve.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC} ${CMAKE_CURRENT_SOURCE_DIR}/fixtures)
add_test(NAME predict COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/predict.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC})
set_tests_properties(serve predict PROPERTIES TIMEOUT 300 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
