/* How verbs show a task: scores as text, JSON, table and picture; predictions of single files; results in a model's
 * card. Functions are local; most that write to a stream or to JSON never refuse. */
#ifndef MF_TRAIN_LEARN_SHOW_H
#define MF_TRAIN_LEARN_SHOW_H

#include "src/train/learn.h"

/** Scores, and the samples of which they are. */
struct mf_scored {
    const struct mf_task *task;
    const struct mf_dataset *set;
    size_t n;
    const uint32_t *id; /* [n] */
    const struct mf_scores *scores;
    const struct mf_scores *hidden; /* [MF_HIDDEN] where something is hidden; NULL: they were not made */
};

struct mf_learn_show {
    const char *verb;    /* infer VERB predicts; NULL: none does */
    const char *picture; /* its file; NULL: scores are not drawn */
    int draws_outputs;   /* the picture needs the outputs of all samples */
    const char *title;   /* of the list of outputs: "classes:" */
    /** Prints further lines of a model's facts. NULL: there are none. */
    void (*facts)(const struct mf_task *task, FILE *to);

    /** Draws scores into file @p path: MF_OUTPUT. */
    int (*draw)(const struct mf_scored *of, const char *title, const char *path);
    /** Prints what stands behind the loss, and a table of the outputs. Both: MF_MEMORY. */
    int (*print)(const struct mf_scored *of, FILE *to);
    int (*json)(const struct mf_scored *of, struct mf_json *to);
    /** Prints a table of commas: a line for each sample, with its answers. */
    void (*table)(const struct mf_scored *of, FILE *to);

    /** Prints one answer, of mf_model_output(): ": name value, ..". */
    void (*line)(const struct mf_task *task, const float *answer, FILE *to);
    void (*reply)(const struct mf_task *task, const float *answer, struct mf_json *to);
    /** Prints the columns of a table of answers: their names, and one answer; a comma stands before each. */
    void (*names)(const struct mf_task *task, FILE *to);
    void (*values)(const struct mf_task *task, const float *answer, FILE *to);

    /** Prints the results of a split, as put() wrote them: "accuracy 12.50 %". */
    void (*results)(const struct mf_json *split, FILE *to);
    /** The figure by which a model is judged, from the same, and its name. @p each [n]: that of each output. */
    double (*judged)(const struct mf_json *split, size_t n, double *each);
    const char *judged_by;
};

/** Letters of the longest name of an output, or of @p head. */
int mf_show_width(const struct mf_task *task, const char *head);

#endif
