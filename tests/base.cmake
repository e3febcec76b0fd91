mf_test(NAME base_opt SOURCE unit/base_opt.c ROOM mf_base)
