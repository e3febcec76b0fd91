# Mixtures of experts: the knowledge graph.
mf_test(NAME moe_graph SOURCE unit/moe_graph.c ROOM mf_moe)
