/* When a long run saves itself, and when it leaves early: by the clock, by signals, by a file. A run opens its keeper,
 * and asks it after every step: mf_keeper_step() decides the same on all ranks, and saves. */
#ifndef MF_RUN_KEEPER_H
#define MF_RUN_KEEPER_H

#include "src/run/checkpoint.h"

/** What the keeper is asked for. */
struct mf_keeper_opts {
    const char *stem;      /* checkpoints stand at STEM.ckpt-a.h5 and -b.h5 */
    const char *stop_file; /* a file of this name, younger than the run, asks it to leave; NULL: none is looked for */
    const char *save_file; /* one younger than the run, or touched again, asks for a checkpoint */
    double every_seconds;  /* between checkpoints; 0: chosen from what one costs; < 0: only when leaving */
    long every_steps;      /* instead of seconds; 0: seconds count */
    double max_seconds;    /* of the whole program; 0: no end */
    double begin;          /* mf_now() when the program started */
    int restart;           /* go on from the newest checkpoint, if there is one */
};

struct mf_keeper {
    struct mf_keeper_opts opts;
    int next;     /* which of the two files comes next */
    int64_t turn; /* of the next checkpoint */
    double cost;  /* seconds that one takes: measured, first from its bytes */
    double saved; /* mf_now() at the last, or at the begin */
    long saved_steps;
    double looked;     /* for the files, last */
    double saved_file; /* mf_now() when the second was seen last */
    int64_t saves;     /* checkpoints that signals have asked for */
    int warned;        /* that one could not be written */
    int stale;         /* the other file is of an earlier run: gone once this one has a checkpoint of its own */
    double asked, gap; /* mf_now() at the last question, and the longest time between two */
    int leaving;       /* the run was asked to end, and is saved */
    char why[80];      /* it leaves */
};

enum { MF_KEEP_SAVE = 1, MF_KEEP_LEAVE = 2, MF_KEEPER_WISHES = 3 };

/**
 * Opens the keeper, and with opts->restart the newest checkpoint into *from (else NULL). Warns of old checkpoints that
 * will be replaced, and of a disk without room. @p bytes: of one checkpoint, all ranks. Collective; MF_INPUT (agreed).
 */
int mf_keeper_begin(struct mf_keeper *keeper, const struct mf_comm *comm, const struct mf_keeper_opts *opts,
                    double bytes, struct mf_checkpoint **from);

/** The run goes on from a checkpoint after @p steps. */
void mf_keeper_resume(struct mf_keeper *keeper, long steps);

/** What is to be done now, MF_KEEP_ bits, the same on all ranks. Sets keeper->leaving. @p steps so far. Collective. */
int mf_keeper_ask(struct mf_keeper *keeper, const struct mf_comm *comm, long steps);

/* The same in two local halves, for a loop that has a reduction of its own in each step: it takes the maxima of what
 * ranks wish, and each rank heeds them. */
void mf_keeper_wish(struct mf_keeper *keeper, int rank, long steps, int64_t wish[MF_KEEPER_WISHES]);
int mf_keeper_heed(struct mf_keeper *keeper, const int64_t wish[MF_KEEPER_WISHES]);

/**
 * Writes the next checkpoint. One that is only due may fail: a warning, and the run goes on; one on leaving refuses,
 * and so does any where the folder is gone, or whose arrays differ between ranks (MF_BROKEN).
 * @p asked: what mf_keeper_ask() said. Collective; MF_OUTPUT (agreed).
 */
int mf_keeper_save(struct mf_keeper *keeper, const struct mf_comm *comm, int asked, long steps,
                   const struct mf_checkpoint *checkpoint);

/** Where a checkpoint is wanted, has @p list fill it and saves it. Otherwise as mf_keeper_save(). */
int mf_keeper_act(struct mf_keeper *keeper, const struct mf_comm *comm, int asked, long steps, const char *problem,
                  void (*list)(void *context, struct mf_checkpoint *checkpoint), void *context);

/** After a step: asks and acts. Collective; MF_OUTPUT (agreed). */
int mf_keeper_step(struct mf_keeper *keeper, const struct mf_comm *comm, long steps, const char *problem,
                   void (*list)(void *context, struct mf_checkpoint *checkpoint), void *context);

/** The refusal (MF_STOPPED) of a run that left and is saved. */
int mf_keeper_left(const struct mf_keeper *keeper);

#endif
