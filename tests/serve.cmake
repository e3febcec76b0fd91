# The server.
mf_test(NAME serve_dialect SOURCE unit/serve_dialect.c ROOM mf_serve ARGS 2000)
mf_test(NAME serve_chat SOURCE unit/serve_chat.c ROOM mf_serve ARGS ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/chat)
