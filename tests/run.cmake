mf_test(NAME run_checkpoint SOURCE unit/run_checkpoint.c ROOM mf_run RANKS 1 2 3)
mf_test(NAME run_keeper SOURCE unit/run_keeper.c ROOM mf_run RANKS 1 2 3)
mf_test(NAME run_problem SOURCE unit/run_problem.c ROOM mf_run)
mf_test(NAME run_metrics SOURCE unit/run_metrics.c ROOM mf_run)
