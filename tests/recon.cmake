mf_test(NAME optim_methods SOURCE unit/optim_methods.c ROOM mf_optim)
mf_test(NAME recon_connect SOURCE unit/recon_connect.c ROOM mf_recon RANKS 1 2 3 4 7)
mf_test(NAME recon_mutable SOURCE unit/recon_mutable.c ROOM mf_recon)
mf_test(NAME recon_objective SOURCE unit/recon_objective.c ROOM mf_recon RANKS 1 2 3)
mf_test(NAME recon_predict SOURCE unit/recon_predict.c ROOM mf_recon)
mf_test(NAME recon_plan SOURCE unit/recon_plan.c ROOM mf_recon)
mf_test(NAME recon_reach SOURCE unit/recon_reach.c ROOM mf_recon RANKS 1 2 3 4 7)
mf_test(NAME recon_pairs SOURCE unit/recon_pairs.c ROOM mf_recon)
mf_test(NAME recon_plane_fit SOURCE unit/recon_plane_fit.c ROOM mf_recon RANKS 1 2 3 4)
mf_test(NAME recon_select SOURCE unit/recon_select.c ROOM mf_recon RANKS 1 2 3 4)
mf_test(NAME recon_solve SOURCE unit/recon_solve.c ROOM mf_recon RANKS 1 2 3)
mf_test(NAME recon_values SOURCE unit/recon_values.c ROOM mf_recon RANKS 1 3)
mf_test(NAME recon_start SOURCE unit/recon_start.c ROOM mf_recon)
mf_test(NAME recon_swap SOURCE unit/recon_swap.c ROOM mf_recon)
mf_test(NAME recon_tally SOURCE unit/recon_tally.c ROOM mf_recon)
mf_test(NAME recon_counts SOURCE unit/recon_counts.c ROOM mf_recon)
add_test(NAME golden_losses COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/golden_losses.py
  $<TARGET_FILE:mesoforge> ${PROJECT_SOURCE_DIR}/../shared 1 3)
# The same of micrographs that synth makes: tests/data/definitions.py computed the values.
add_test(NAME made_losses COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/golden_losses.py
  $<TARGET_FILE:mesoforge> ${CMAKE_CURRENT_SOURCE_DIR}/data 1 3)
set_tests_properties(golden_losses made_losses PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS golden
  ENVIRONMENT "${MF_TEST_ENV}")

# Whole programs: tests/cli/<name>.py MESOFORGE MPIEXEC
set(recon_timeout 1800) # hundreds of launches: minutes on a busy machine
if(MF_SANITIZE)
  set(recon_timeout 3600)
endif()
foreach(name anneal auto candidates config connect cross fixed log_view loss_default mcrpy_flags metrics options patches quality recon_ranks recon_refusals recon_result restart space space_cross watch)
  add_test(NAME ${name} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.py $<TARGET_FILE:mesoforge>
    ${MF_MPIEXEC})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${recon_timeout} SKIP_RETURN_CODE 77 LABELS cli
    ENVIRONMENT "${MF_TEST_ENV}")
endforeach()
add_test(NAME checkpoint_full COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/checkpoint_full.sh $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC})
set_tests_properties(checkpoint_full PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli
  ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME log_cut COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/log_cut.sh $<TARGET_FILE:mesoforge>)
set_tests_properties(log_cut PROPERTIES TIMEOUT 300 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")

# Sanitizers keep memory of their own.
if(NOT MF_SANITIZE)
  add_test(NAME peaks COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/peaks.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC})
  set_tests_properties(peaks PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli
    ENVIRONMENT "${MF_TEST_ENV}")
endif()
