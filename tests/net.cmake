# Networks: operations one by one; lists, passes and walks.
mf_test(NAME net_ops SOURCE unit/net_ops.c ROOM mf_kernels)
target_sources(net_ops PRIVATE
  unit/net_oracle_plain.c
  unit/net_oracle_attention.c
  unit/net_oracle_arrange.c
  unit/net_oracle_image.c
  unit/net_oracle_route.c)
mf_test(NAME net_optim SOURCE unit/net_optim.c ROOM mf_kernels)
mf_test(NAME net_threads SOURCE unit/net_threads.c ROOM mf_kernels)
mf_test(NAME net_place SOURCE unit/net_place.c ROOM mf_net)
mf_test(NAME net_list SOURCE unit/net_list.c ROOM mf_net ARGS ${CMAKE_CURRENT_SOURCE_DIR}/data/net/list.txt)
