# Training: steps on any ranks, windows and scores.
mf_test(NAME train_steps SOURCE unit/train_steps.c ROOM mf_train RANKS 1 2 3 4)
