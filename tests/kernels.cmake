mf_test(NAME kernels_bits SOURCE unit/kernels_bits.c ROOM mf_kernels)
mf_test(NAME kernels_vari SOURCE unit/kernels_vari.c ROOM mf_kernels)
mf_test(NAME kernels_frac SOURCE unit/kernels_frac.c ROOM mf_kernels)
mf_test(NAME kernels_corr SOURCE unit/kernels_corr.c ROOM mf_kernels TIMEOUT 120)
