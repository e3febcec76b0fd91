mf_test(NAME vqa_answers SOURCE unit/vqa_answers.c ROOM mf_vqa)
mf_test(NAME vqa_blind SOURCE unit/vqa_blind.c ROOM mf_vqa)
mf_test(NAME vqa_import SOURCE unit/vqa_import.c ROOM mf_vqa)
