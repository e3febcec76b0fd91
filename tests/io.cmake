# Tests of io/.
mf_test(NAME io_target SOURCE unit/io_target.c ROOM mf_io)
mf_test(NAME io_npy SOURCE unit/io_npy.c ROOM mf_io RANKS 1 2 3)
mf_test(NAME io_image SOURCE unit/io_image.c ROOM mf_io ARGS ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/io)
