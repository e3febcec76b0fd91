# Networks: operations one by one; lists, passes and walks.
mf_test(NAME net_ops SOURCE unit/net_ops.c ROOM mf_kernels)
target_sources(net_ops PRIVATE
  unit/net_oracle_plain.c
  unit/net_oracle_attention.c
  unit/net_oracle_arrange.c
  unit/net_oracle_image.c
  unit/net_oracle_denoise.c
  unit/net_oracle_route.c
  unit/net_oracle_text.c)
mf_test(NAME net_tune SOURCE unit/net_tune.c ROOM mf_kernels IN fast)
mf_test(NAME net_optim SOURCE unit/net_optim.c ROOM mf_kernels)
mf_test(NAME net_threads SOURCE unit/net_threads.c ROOM mf_kernels IN fast)
mf_test(NAME net_kept SOURCE unit/net_kept.c ROOM mf_kernels)
mf_test(NAME net_steady SOURCE unit/net_steady.c ROOM mf_kernels)
mf_test(NAME net_place SOURCE unit/net_place.c ROOM mf_net)
mf_test(NAME net_list SOURCE unit/net_list.c ROOM mf_net ARGS ${CMAKE_CURRENT_SOURCE_DIR}/data/net/list.txt)
mf_test(NAME model_run SOURCE unit/model_run.c ROOM mf_model)
mf_test(NAME model_language SOURCE unit/model_language.c ROOM mf_model)
set(language_models)
foreach(name gpt2 gpt2-hub-names gpt2-shards opt opt-post-norm llama llama-old-config llama-tied-with-head llama3-tied-bf16 mistral mixtral bert bert-gamma-beta)
  list(APPEND language_models ${PROJECT_SOURCE_DIR}/../shared/golden/models/${name})
endforeach()
add_test(NAME model_language_golden COMMAND model_language ${language_models})
set_tests_properties(model_language_golden PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS golden ENVIRONMENT "${MF_TEST_ENV}")
mf_test(NAME model_denoise SOURCE unit/model_denoise.c ROOM mf_model)
set_tests_properties(model_run PROPERTIES ENVIRONMENT "${MF_TEST_ENV};GLIBC_TUNABLES=glibc.malloc.tcache_count=0")
mf_test(NAME model_unet SOURCE unit/model_unet.c ROOM mf_model ARGS ${CMAKE_CURRENT_SOURCE_DIR}/data/net/unet.safetensors)
if(NOT MF_SANITIZE) # 1.2 GB of weights
  add_test(NAME model_unet_whole COMMAND model_unet ${CMAKE_CURRENT_SOURCE_DIR}/data/net/unet.safetensors whole CONFIGURATIONS long)
  set_tests_properties(model_unet_whole PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV}")
endif()
# Experts on several ranks, also without memory that ranks share.
mf_test(NAME net_trade SOURCE unit/net_trade.c ROOM mf_net RANKS 1 2 3 4
  ARGS ${CMAKE_CURRENT_SOURCE_DIR}/data/net/trade.txt)
target_link_libraries(net_trade PRIVATE mf_mpi)
add_test(NAME net_trade_apart COMMAND ${MF_MPIEXEC} -n 3 $<TARGET_FILE:net_trade>)
set_tests_properties(net_trade_apart PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV};MF_SHARE=0")
# Layers that ranks cut, and lists that send.
mf_test(NAME net_split SOURCE unit/net_split.c ROOM mf_net RANKS 1 2 3 4)
target_link_libraries(net_split PRIVATE mf_mpi)
