# Language models that run. Golden files lie beside the sources, where they are.
mf_test(NAME gen_engine SOURCE unit/gen_engine.c ROOM mf_gen RANKS 1 2 4 ARGS ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language gpt2 llama3-tied-bf16 mixtral mixtral-joined)
mf_test(NAME gen_workload SOURCE unit/gen_workload.c ROOM mf_gen RANKS 1 2 4 ARGS ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language gpt2 llama3-tied-bf16 mixtral mixtral-joined)
add_test(NAME gen_workload_golden COMMAND gen_workload ${PROJECT_SOURCE_DIR}/../shared/golden/models gpt2 gpt2-hub-names gpt2-shards opt opt-post-norm llama
  llama-old-config llama-tied-with-head llama3-tied-bf16 mistral mixtral)
set_tests_properties(gen_workload_golden PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS golden ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME gen_engine_golden COMMAND gen_engine ${PROJECT_SOURCE_DIR}/../shared/golden/models gpt2 gpt2-hub-names gpt2-shards opt opt-post-norm llama
  llama-old-config llama-tied-with-head llama3-tied-bf16 mistral mixtral)
set_tests_properties(gen_engine_golden PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS golden ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME text_generation COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/text_generation.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC} ${CMAKE_CURRENT_SOURCE_DIR}/fixtures)
set_tests_properties(text_generation PROPERTIES TIMEOUT 60 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
mf_test(NAME gen_embed SOURCE unit/gen_embed.c ROOM mf_gen ARGS ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/language bert)
add_test(NAME gen_embed_golden COMMAND gen_embed ${PROJECT_SOURCE_DIR}/../shared/golden/models bert bert-gamma-beta)
set_tests_properties(gen_embed_golden PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77 LABELS golden ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME embed COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/embed.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC} ${CMAKE_CURRENT_SOURCE_DIR}/fixtures)
set_tests_properties(embed PROPERTIES TIMEOUT 60 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
mf_test(NAME gen_pooling SOURCE unit/gen_pooling.c ROOM mf_gen ARGS 400)
