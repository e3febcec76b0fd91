/* Questions of a dataset as files that data import reads, and others: questions.csv, scenes.jsonl, question_types.json
 * and vocab.txt. */
#ifndef MF_CMD_FILES_QUESTIONS_WRITE_H
#define MF_CMD_FILES_QUESTIONS_WRITE_H

#include "io/questions.h"

/** Samples whose questions are written, and where. */
struct mf_questions_out {
    const struct mf_dataset *set;
    const struct mf_questions *questions;
    const char *path; /* a folder, or an array .npy: files are called as it is, NAME.questions.csv, .. */
    int pictures;     /* samples are called 00000003.png in that folder; else by their places, 0, 1, .. */
    size_t count;
    const size_t *id; /* [count], ascending */
};

/** Writes the files; rank 0 does. Collective; refuses (agreed) with MF_OUTPUT. */
int mf_questions_write(const struct mf_comm *comm, const struct mf_questions_out *out);

#endif
