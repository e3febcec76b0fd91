mf_test(NAME run_checkpoint SOURCE unit/run_checkpoint.c ROOM mf_run RANKS 1 2 3)
mf_test(NAME run_keeper SOURCE unit/run_keeper.c ROOM mf_run RANKS 1 2 3)
mf_test(NAME run_problem SOURCE unit/run_problem.c ROOM mf_run)
mf_test(NAME run_run SOURCE unit/run_run.c ROOM mf_run RANKS 1 2 3)
mf_test(NAME run_monitor SOURCE unit/run_monitor.c ROOM mf_run)
set_property(TEST run_monitor APPEND PROPERTY ENVIRONMENT
  LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/fake_nvml:$ENV{LD_LIBRARY_PATH})
add_dependencies(run_monitor fake_nvml)
mf_test(NAME run_metrics SOURCE unit/run_metrics.c ROOM mf_run)
