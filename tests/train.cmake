# Training: steps and scores on any ranks, windows, its lists in checked memory.
mf_test(NAME train_score SOURCE unit/train_score.c ROOM mf_train TIMEOUT 300 RANKS 1 2 3 4)
mf_test(NAME train_steps SOURCE unit/train_steps.c ROOM mf_train TIMEOUT 300 RANKS 1 2 3 4)
mf_test(NAME train_offload SOURCE unit/train_offload.c ROOM mf_train TIMEOUT 300 RANKS 1 2 3 4)
mf_test(NAME train_half SOURCE unit/train_half.c ROOM mf_train TIMEOUT 300 RANKS 1 2 3 4)
mf_test(NAME train_moe SOURCE unit/train_moe.c ROOM mf_train TIMEOUT 300 RANKS 1 2 3 4)
mf_test(NAME train_window SOURCE unit/train_window.c ROOM mf_train)
mf_test(NAME train_walk SOURCE unit/train_walk.c ROOM mf_train)
mf_test(NAME train_models SOURCE unit/train_models.c ROOM mf_train ARGS ${CMAKE_CURRENT_SOURCE_DIR}/data/net)
