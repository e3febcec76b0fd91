/* Questions about the samples that synth makes (src/vqa/vqa.h), as a dataset holds them (io/questions.h). */
#ifndef MF_CMD_FILES_SYNTH_QUESTIONS_H
#define MF_CMD_FILES_SYNTH_QUESTIONS_H

#include "io/questions.h"
#include "src/cmd/cmd.h"
#include "src/synth/mix.h"
#include "src/vqa/vqa.h"

enum { MF_SYNTH_QUESTIONS_MAX = 64 }; /* of a sample */

struct mf_synth_questions {
    struct mf_session *session;
    struct mf_comm self;
    size_t samples, each; /* questions of a sample */
    uint64_t seed;
    struct mf_vqa_facts *facts; /* [samples], filled for own ones */
    struct mf_questions_form *form;
    char *vocabulary;
    struct mf_questions_wish wish; /* for the dataset; it points into this struct */
};

/** Takes the memory. Its place stays until the end, which comes in any case. Local; MF_MEMORY. */
int mf_synth_questions_begin(struct mf_session *session, size_t samples, size_t each, const struct mf_synth_mix *mix,
                             struct mf_synth_questions *questions);
void mf_synth_questions_end(struct mf_synth_questions *questions);

/** Measures sample @p id, of that class. Local; MF_MEMORY. */
int mf_synth_questions_measure(struct mf_synth_questions *questions, size_t id, struct mf_micro *micro, int kind);

#endif
