mf_test(NAME kernels_bits SOURCE unit/kernels_bits.c ROOM mf_kernels)
