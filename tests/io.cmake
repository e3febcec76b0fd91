# Tests of io/.
mf_test(NAME io_target SOURCE unit/io_target.c ROOM mf_io)
