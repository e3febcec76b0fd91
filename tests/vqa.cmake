mf_test(NAME vqa_answers SOURCE unit/vqa_answers.c ROOM mf_vqa)
