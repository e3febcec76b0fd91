/* Learning tasks. A kind of task is one table of functions, struct mf_learn. It says which values a network reads, what
 * its loss is, which rows count, and how scores are made. It reads and writes what a model's file says of the task.
 * A task, struct mf_task, is a kind with heads, names of outputs and facts of its own. It comes from a dataset or from
 * a model's file.
 *
 * A head is a part of the network's output with targets, rows, a loss and scores of its own. What is learnt is the sum
 * of the heads' mean losses, each times its weight.
 *
 * Rule: no other file of this folder, and no other folder, asks which kind it is. All functions are local. */
#ifndef MF_TRAIN_LEARN_H
#define MF_TRAIN_LEARN_H

#include <stdint.h>
#include <stdio.h>

#include "src/model/card.h"

enum { MF_LEARN_INPUTS = 16, MF_LEARN_MORE = 4 };

/** Arrays of a batch (struct mf_batch) that a task reads. MF_READS_QUESTIONS: items of its sets are questions. */
enum { MF_READS_X = 1, MF_READS_INPUT = 2, MF_READS_LABEL = 4, MF_READS_REAL = 8, MF_READS_QUESTIONS = 16 };

/** A value that the host fills before each pass: what the network reads, or a target. Its numbers have four
 * bytes, or one byte where a row has a multiple of four. */
struct mf_learn_input {
    const char *name;
    struct mf_shape shape; /* [batch][..] */
    int plain;             /* it is mf_batch.input as it is; else fill() makes it */
    uint32_t blank;        /* the bits of every number of a row behind the samples, which does not count */
};

struct mf_head {
    const char *name;
    size_t outputs; /* along the last axis of the network's output */
    double weight;  /* of its mean loss in the sum that is learnt; above 0 */
    /* numbers of tally() and finish() */
    size_t counts, sums, figures;
};

struct mf_task {
    const struct mf_learn *learn;
    size_t heads;
    struct mf_head head[MF_HEADS];
    mf_name *name; /* [outputs of all heads] what they stand for; NULL: nothing */
    void *own;     /* facts of the kind */
};

/** Samples whose inputs are filled. Random numbers of sample r follow from seed and first + r. */
struct mf_fill {
    const struct mf_dataset *set;
    const struct mf_batch *batch;
    uint64_t seed;                /* of the step; 0: of scores */
    uint64_t first;               /* number of the first sample among all of the run, or of the score */
    int train;                    /* 0: for scores */
    const struct mf_shape *shape; /* of the input */
};

/** What the loss of a head is built from. */
struct mf_learn_loss {
    struct mf_build *build;
    const char *name; /* of its node */
    int head;         /* for attr.head */
    int output;       /* of the network, [batch][..][outputs of the head] */
    const int *more;  /* what forward() left behind the outputs of all heads */
    const int *input; /* all values of inputs() */
    int train;        /* else it is scored */
};

/** How well a network does in a head. */
struct mf_head_scores {
    double rows, loss;   /* rows that count; mean loss, NAN: no rows */
    double *count, *sum; /* [counts], [sums] of all samples; NULL once the figures are there */
    double *figure;      /* [figures] */
    float *output;       /* [samples][numbers of the head] in the order of the samples, on rank 0; if it is wanted */
};

/** How well a network does on samples. */
struct mf_scores {
    size_t samples, rows; /* rows that count in means, of all heads */
    size_t lost;          /* samples of which an output is not finite */
    double loss;          /* the sum that is learnt; NAN: no rows */
    size_t heads;
    struct mf_head_scores head[MF_HEADS];
};

struct mf_learn_show;

/** A network may not see everything: the image is grey, or the question is that of another item. */
enum mf_hidden { MF_HIDES_NOTHING, MF_HIDES_IMAGE, MF_HIDES_QUESTION, MF_HIDDEN };

/** A kind of task. Functions may be NULL where it says so. */
struct mf_learn {
    const char *name;                 /* of its verbs */
    const char *key;                  /* of a model's card, by which the kind is known */
    unsigned reads;                   /* MF_READS_... */
    int by_class;                     /* outputs are classes, and mark() is one of them */
    int whole;                        /* every rank makes samples by all of the network, so it has no stages */
    const struct mf_learn_show *show; /* what verbs print and draw; NULL: no verb has this kind */

    /* -- network -- */

    /** All values that the host fills. The first one is what a model reads. A sample has @p dims {nz, ny, nx,
     * channels}, the network @p arch and @p args. Returns how many, at most MF_LEARN_INPUTS. */
    size_t (*inputs)(const struct mf_task *task, const size_t dims[4], size_t batch, const struct mf_arch *arch,
                     const struct mf_arch_args *args, struct mf_learn_input input[]);
    /** Builds the outputs of all heads. Behind them it leaves up to MF_LEARN_MORE values for loss(). @p train 0: it
     * is scored. NULL: @p arch reads the first input, and its last axis has one head behind the other. */
    void (*forward)(const struct mf_task *task, struct mf_build *build, const struct mf_arch *arch,
                    const struct mf_arch_args *args, const int input[], int train, int output[]);
    /** The loss of a head: a value [1], a sum over rows divided by MF_NUMBER_ROWS + head. The first input of its node
     * holds the head's outputs, in any shape: scores read them there. */
    int (*loss)(const struct mf_task *task, const struct mf_learn_loss *of);

    /* -- samples -- */

    /** Writes the first of->batch->n rows of input number @p input. */
    void (*fill)(const struct mf_task *task, const struct mf_fill *of, size_t input, void *to);
    /** Hides something from all scores that follow. NULL: nothing can be hidden. */
    int (*hide)(struct mf_task *task, enum mf_hidden what);
    /** Rows of a sample that count in a head; from facts in memory, the same on all ranks. */
    size_t (*rows)(const struct mf_task *task, const struct mf_dataset *set, size_t head, size_t sample);

    /* -- scores: counts are whole numbers; sums are added in the order of the batches -- */

    /** Brings outputs of a sample into the units of the dataset. NULL: they are. */
    void (*restore)(const struct mf_task *task, size_t head, float *output);
    /** Adds sample number @p r of a batch, which has rows that count. */
    void (*tally)(const struct mf_task *task, const struct mf_dataset *set, size_t head, const struct mf_batch *batch,
                  size_t r, const float *output, double *count, double *sum);
    /** Makes scores->figure. */
    void (*finish)(const struct mf_task *task, size_t head, const struct mf_head_scores *scores, double *figure);
    /** The figure by which networks are compared; larger is better. NULL: no sample says it, and none is scored. */
    double (*merit)(const struct mf_task *task, const struct mf_scores *scores);
    const char *merit_key; /* in metrics */
    /** Prints the merit: "accuracy 12.50 %". */
    void (*tell)(const struct mf_task *task, double merit, FILE *to);
    /** Puts figures into the results of a model's file. */
    void (*put)(const struct mf_task *task, const struct mf_scores *scores, struct mf_json *to);
    /** A number by which samples are sorted into groups: a class, -1 for none, or any real value. NULL: there is one
     * group. */
    double (*mark)(const struct mf_task *task, const struct mf_dataset *set, size_t sample);

    /* -- files -- */

    /** Prints the lines "key: value" that a run shares with its checkpoint. NULL: there are none. */
    void (*problem)(const struct mf_task *task, FILE *to);
    /** Puts the task into a model's card, under its key. */
    void (*save)(const struct mf_task *task, struct mf_json *card);
    /** Makes the task from the card of a file: MF_INPUT. NULL: it cannot be read. The caller frees it in every case. */
    int (*load)(const struct mf_model_card *card, struct mf_task *task);
    /** Finds outputs in a dataset by name, where file @p path is that of the task: MF_INPUT. */
    int (*fit)(struct mf_task *task, const char *path, struct mf_dataset *set);
    /** Do two tasks know the same facts? NULL: outputs say all. */
    int (*same)(const struct mf_task *a, const struct mf_task *b);
    /** Warns of a set that is hard to learn from. NULL: of none. */
    void (*doubt)(const struct mf_task *task, const struct mf_dataset *set);
    /** Frees own. NULL: free() does. */
    void (*close)(void *own);
};

/** All kinds that model files may have, NULL-terminated. */
extern const struct mf_learn *const mf_learns[];

/** A task of one head, without names and facts. */
struct mf_task mf_task_plain(const struct mf_learn *learn, size_t outputs);

/** The same, with copies of @p name [outputs], or room for names where that is NULL. mf_task_close() frees; all zero is
 * accepted. */
struct mf_task mf_task_named(const struct mf_learn *learn, size_t outputs, const mf_name *name);
void mf_task_close(struct mf_task *task);

/** Outputs of all heads. */
size_t mf_task_outputs(const struct mf_task *task);

/** Have two tasks the same kind, and outputs of the same names in the same order? */
int mf_task_same(const struct mf_task *a, const struct mf_task *b);

/** Does a sample count in a head? */
int mf_task_counts(const struct mf_task *task, const struct mf_dataset *set, size_t sample);

/** Samples of a split that count. */
size_t mf_task_rows(const struct mf_task *task, const struct mf_dataset *set, enum mf_split split);

/** Opens a set for a kind, whose items are what it reads. Collective. Refuses as mf_dataset_open(), mf_dataset_ask().
 */
int mf_learn_open(const struct mf_learn *learn, const struct mf_comm *comm, const char *path, struct mf_dataset **set);

/** Refuses with MF_INPUT a set without the arrays that a kind reads; and one without a row to learn from. */
int mf_learn_needs(const struct mf_learn *learn, const struct mf_dataset *set);
int mf_task_needs(const struct mf_task *task, const struct mf_dataset *set);

/* -- parts for kinds -- */

/** Inputs: the samples; labels of @p rows rows of each, where -1 does not count; real values, where NAN does not. */
struct mf_learn_input mf_learn_samples(const size_t dims[4], size_t batch);
struct mf_learn_input mf_learn_labels(const char *name, size_t batch, size_t rows);
struct mf_learn_input mf_learn_reals(const char *name, size_t batch, size_t numbers);

/** Cross-entropy of the output as rows [..][outputs of the head], and mean squared error, against input @p target. */
int mf_learn_softmax(const struct mf_learn_loss *of, size_t outputs, int target, double smoothing);
int mf_learn_squared(const struct mf_learn_loss *of, int target);

/** A loss as it is printed; "none" where it is not finite. */
enum { MF_LOSS_TEXT = 24 };
const char *mf_loss_text(double loss, char text[MF_LOSS_TEXT]);

/** Are all @p n outputs of a sample finite? */
int mf_outputs_finite(size_t n, const float *output);

#endif
