# The server.
mf_test(NAME serve_dialect SOURCE unit/serve_dialect.c ROOM mf_serve ARGS 2000)
