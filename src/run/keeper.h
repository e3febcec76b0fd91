/* Decides when a long run saves itself, and when it leaves early: by the clock, by signals, by a file. A run opens its
 * keeper and calls mf_keeper_step() after every step. It decides the same on all ranks, and saves. */
#ifndef MF_RUN_KEEPER_H
#define MF_RUN_KEEPER_H

#include "src/run/checkpoint.h"

/** Options of the keeper. */
struct mf_keeper_opts {
    const char *stem;      /* checkpoints are STEM.ckpt-a.h5 and -b.h5 */
    const char *stop_file; /* a file of this name, newer than the run's start, asks it to leave; NULL: none */
    const char *save_file; /* a file newer than the run's start, or touched again, asks for a checkpoint; NULL: none */
    double every_seconds;  /* between checkpoints; 0: chosen from the cost of one; < 0: only when leaving */
    long every_steps;      /* used instead of seconds; 0: not */
    double max_seconds;    /* of the whole program; 0: no limit */
    double begin;          /* mf_now() when the program started */
    int restart;           /* continue from the newest checkpoint, if there is one */
    const char *last;      /* where there is no checkpoint, from this file; NULL: from the beginning */
    int anew;              /* checkpoints of an earlier run may be replaced; else they refuse this one */
};

struct mf_keeper {
    struct mf_keeper_opts opts;
    int next;     /* index of the file to write next */
    int64_t turn; /* number of the next checkpoint */
    double cost;  /* seconds that one takes: measured, at first estimated from its bytes */
    double saved; /* mf_now() at the last one, or at the start */
    long saved_steps;
    double looked;     /* when the files were last looked for */
    double saved_file; /* mf_now() when the second was last seen */
    int64_t saves;     /* checkpoints that signals have asked for */
    int warned;        /* a failed write was reported */
    int stale;         /* the other file is of an earlier run, and is removed after this run's first checkpoint */
    double asked, gap; /* mf_now() at the last question; the longest time between two */
    int leaving;       /* the run was asked to leave, and has saved itself */
    char why[80];      /* the reason to leave */
};

enum { MF_KEEP_SAVE = 1, MF_KEEP_LEAVE = 2, MF_KEEPER_WISHES = 3 };

/**
 * Opens the keeper, and with opts->restart the newest checkpoint into *from (else NULL). Warns of old checkpoints that
 * will be replaced, and of a disk without space. One checkpoint of all ranks has @p bytes bytes. Collective; MF_INPUT
 * (agreed).
 */
int mf_keeper_begin(struct mf_keeper *keeper, const struct mf_comm *comm, const struct mf_keeper_opts *opts,
                    double bytes, struct mf_checkpoint **from);

/** Opens a keeper for a run that keeps its results itself, without checkpoints. It only says when to leave, by
 * stop_file, max_seconds and begin of @p opts. Local. */
void mf_keeper_watch(struct mf_keeper *keeper, const struct mf_keeper_opts *opts);

/** The run continues from a checkpoint after @p steps. */
void mf_keeper_resume(struct mf_keeper *keeper, long steps);

/** Tasks of this moment, as MF_KEEP_ bits, the same on all ranks. Sets keeper->leaving. @p steps: made so far.
 * Collective. */
int mf_keeper_ask(struct mf_keeper *keeper, const struct mf_comm *comm, long steps);

/* The same in two local functions, for a loop that reduces over ranks in every step anyway. The loop's reduction takes
 * the maxima of the ranks' wishes. Every rank then obeys these. */
void mf_keeper_wish(struct mf_keeper *keeper, int rank, long steps, int64_t wish[MF_KEEPER_WISHES]);
int mf_keeper_heed(struct mf_keeper *keeper, const int64_t wish[MF_KEEPER_WISHES]);

/**
 * Writes the next checkpoint. If a scheduled one fails, it warns and the run continues. A failure on leaving is a
 * refusal. So is any failure because the folder is gone, or because arrays differ between ranks (MF_BROKEN). @p asked:
 * from mf_keeper_ask(). Collective; MF_OUTPUT (agreed).
 */
int mf_keeper_save(struct mf_keeper *keeper, const struct mf_comm *comm, int asked, long steps,
                   const struct mf_checkpoint *checkpoint);

/** If a checkpoint is wanted, @p list fills one, and it is written. Otherwise as mf_keeper_save(). */
int mf_keeper_act(struct mf_keeper *keeper, const struct mf_comm *comm, int asked, long steps, const char *problem,
                  void (*list)(void *context, struct mf_checkpoint *checkpoint), void *context);

/** Call it after a step: asks and acts. Collective; MF_OUTPUT (agreed). */
int mf_keeper_step(struct mf_keeper *keeper, const struct mf_comm *comm, long steps, const char *problem,
                   void (*list)(void *context, struct mf_checkpoint *checkpoint), void *context);

/** The refusal (MF_STOPPED) of a run that has saved itself and leaves. */
int mf_keeper_left(const struct mf_keeper *keeper);

#endif
