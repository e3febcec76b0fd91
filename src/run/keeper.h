/* When a run saves itself, and when it leaves early: by the clock, by signals, by a file. */
#ifndef MF_RUN_KEEPER_H
#define MF_RUN_KEEPER_H

#include "src/run/checkpoint.h"

/** What the keeper is asked for. */
struct mf_keeper_opts {
    const char *stem;       /* checkpoints stand at STEM.ckpt-a.h5 and -b.h5 */
    const char *stop_file;  /* a file of this name, younger than the run, asks it to leave; NULL: none is looked for */
    const char *save_file;  /* one younger than the run, or touched again, asks for a checkpoint */
    double every_seconds;   /* between checkpoints; 0: chosen from what one costs; < 0: only when leaving */
    long every_evaluations; /* instead of seconds; 0: seconds count */
    double max_seconds;     /* of the whole program; 0: no end */
    double begin;           /* mf_now() when the program started */
    int restart;            /* go on from the newest checkpoint, if there is one */
};

struct mf_keeper {
    struct mf_keeper_opts opts;
    int next;     /* which of the two files comes next */
    int64_t turn; /* of the next checkpoint */
    double cost;  /* seconds that one takes: measured, first from its bytes */
    double saved; /* mf_now() at the last, or at the begin */
    long saved_evaluations;
    double looked;     /* for the files, last */
    double saved_file; /* mf_now() when the second was seen last */
    int64_t saves;     /* checkpoints that signals have asked for */
    int warned;        /* that one could not be written */
    int stale;         /* the other file is of an earlier run: gone once this one has a checkpoint of its own */
    double asked, gap; /* mf_now() at the last question, and the longest time between two */
    char why[80];      /* the run leaves */
};

enum { MF_KEEP_SAVE = 1, MF_KEEP_LEAVE = 2 };

/** @p bytes: of one checkpoint, all ranks; @p evaluations: made before. */
void mf_keeper_open(struct mf_keeper *keeper, const struct mf_keeper_opts *opts, double bytes);

/** What is to be done now, MF_KEEP_ bits, the same on all ranks. @p evaluations so far. Collective. */
int mf_keeper_ask(struct mf_keeper *keeper, const struct mf_comm *comm, long evaluations);

/**
 * Writes the next checkpoint. One that is only due may fail: a warning, and the run goes on; one on leaving refuses,
 * and so does any where the folder is gone.
 * @p asked: what mf_keeper_ask() said. Collective; MF_OUTPUT (agreed).
 */
int mf_keeper_save(struct mf_keeper *keeper, const struct mf_comm *comm, int asked, long evaluations,
                   const struct mf_checkpoint *checkpoint);

#endif
