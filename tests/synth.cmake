mf_test(NAME synth_ranks SOURCE unit/synth_ranks.c ROOM mf_synth RANKS 1 2 3 4 7)
mf_test(NAME synth_truth SOURCE unit/synth_truth.c ROOM mf_synth)
mf_test(NAME synth_refuse SOURCE unit/synth_refuse.c ROOM mf_synth)
