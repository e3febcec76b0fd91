# Mixtures of experts: the knowledge graph.
mf_test(NAME moe_graph SOURCE unit/moe_graph.c ROOM mf_moe)
mf_test(NAME moe_graph_file SOURCE unit/moe_graph_file.c ROOM mf_moe)
mf_test(NAME moe_summary SOURCE unit/moe_summary.c ROOM mf_moe)
mf_test(NAME moe_look SOURCE unit/moe_look.c ROOM mf_moe TIMEOUT 300 RANKS 1 2 3 4)
mf_test(NAME moe_sleep SOURCE unit/moe_sleep.c ROOM mf_moe TIMEOUT 300 RANKS 1 2 3 4)
mf_test(NAME moe_defects SOURCE unit/moe_defects.c ROOM mf_moe TIMEOUT 300 RANKS 1 2 3)
mf_test(NAME moe_history SOURCE unit/moe_history.c ROOM mf_moe)
mf_test(NAME moe_draw SOURCE unit/moe_draw.c ROOM mf_moe)
