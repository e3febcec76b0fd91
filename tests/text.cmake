# Of every form of file: what its own library makes of texts. Golden files lie beside the sources, where they are.
set(texts ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/text)
mf_test(NAME text_tokens SOURCE unit/text_tokens.c ROOM mf_text ARGS ${texts} byte_level fallback marks wordpiece old_wordpiece old_byte_level)
add_test(NAME text_tokens_golden COMMAND text_tokens ${PROJECT_SOURCE_DIR}/../shared/golden/models/tokenizers gpt2 opt llama3 sentencepiece bert_uncased bert_cased)
set_tests_properties(text_tokens_golden PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS golden ENVIRONMENT "${MF_TEST_ENV}")
mf_test(NAME text_refuse SOURCE unit/text_refuse.c ROOM mf_text)
mf_test(NAME text_fuzz SOURCE unit/text_fuzz.c ROOM mf_text IN checked ARGS 300 ${texts}/byte_level/tokenizer.json ${texts}/fallback/tokenizer.json
  ${texts}/marks/tokenizer.json ${texts}/wordpiece/tokenizer.json)
add_test(NAME tokens COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/tokens.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC} ${texts})
set_tests_properties(tokens PROPERTIES TIMEOUT 300 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
