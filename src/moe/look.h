/* Outputs of the first mixture of a network for samples, in host memory. They are for sleep, and for tables and
 * pictures. A sample is of a group: its class. Where the task has none it is an eighth of the samples, by a value of
 * theirs. */
#ifndef MF_MOE_LOOK_H
#define MF_MOE_LOOK_H

#include "src/train/record.h"
#include "src/train/train.h"

/** The groups of a dataset's samples. */
struct mf_groups {
    const struct mf_dataset *set;
    const struct mf_task *task;
    size_t count;
    float border[7]; /* values from border[g] on are of group g + 1 */
};

/** Sorts the train split, where samples have no class: once in a training is enough. */
struct mf_groups mf_groups_of(const struct mf_trainer *trainer);

/** The group of a sample; -1: it has no label. */
long mf_groups_find(const struct mf_groups *groups, size_t sample);

/** Its name. The caller frees. */
char *mf_groups_name(const struct mf_groups *groups, size_t group);

/** The rows of a batch; arrays are the look's, until the next batch. */
struct mf_looked {
    struct mf_record sizes;
    size_t experts, rows, each; /* rows of all samples; rows of one */
    const size_t *sample;       /* [rows / each] in the dataset */
    float *input, *inner;       /* [rows][columns]; [rows][hidden] of the router */
    float *score;               /* [rows][experts] */
    float *weight;              /* [rows][top] */
    int32_t *choice;            /* [rows][top] places among the experts; -1: none has the row */
    float *output;              /* [rows][top][outputs] of each chosen expert */
};

/** Looks at the samples @p id [n]: each rank sees its share, in their order. Where ranks pass the same samples, one
 * of them does, which has the mixture. Refuses (agreed) with MF_INPUT, MF_MEMORY.
 * Collective. */
int mf_look_at(struct mf_trainer *trainer, size_t n, const uint32_t *id,
               void (*see)(void *context, const struct mf_looked *look), void *context);

/** For a refusal of a look that a training can do without. If it lacks memory, says so and clears it. */
int mf_look_spared(const struct mf_trainer *trainer, int rc);

/** Entropy of the softmax of @p n scores, in units of the largest; 0 for one score. Local. */
double mf_look_uncertainty(const float *score, size_t n);

/** Choices of the experts. */
struct mf_survey {
    struct mf_arena *arena;
    size_t experts, groups, columns;
    double *table;    /* [experts][groups] rows of each group */
    double *rows;     /* [experts], with those of no group */
    double *centroid; /* [experts][columns] mean input; zeros: it has no rows */
};

/** Looks at @p n samples of a split, at most all, that are evenly spread over it. The same on all ranks. Collective;
 * refuses (agreed) with MF_INPUT, MF_MEMORY. mf_survey_free() frees in every case. */
int mf_survey_make(struct mf_trainer *trainer, const struct mf_groups *groups, enum mf_split split, size_t n,
                   struct mf_survey *survey);
void mf_survey_free(struct mf_survey *survey);

/** 1 - H(group | expert) / ln(groups): 1 where an expert serves one group, 0 where it serves all alike, or none. */
double mf_survey_specialization(const struct mf_survey *survey, size_t expert);

/** The group with most rows of an expert, of equal ones the first; -1: there are none. */
long mf_survey_main(const struct mf_survey *survey, size_t expert);

#endif
