/* A verb is a row of a table: its name, its help, its options, what it does, and the few things that make it unlike
 * other verbs. What the program does with a verb (main.c, help, launch, plan) it reads from this row alone. */
#ifndef MF_CMD_CMD_H
#define MF_CMD_CMD_H

#include "src/cmd/output.h"
#include "src/cmd/session.h"

struct mf_cmd {
    const char *name;     /* one word, or two with a blank between them: "data import" */
    const char *summary;  /* one line */
    const char *synopsis; /* "[--option VALUE ...] FILE ..." */
    const char *text;     /* paragraphs and worked examples for --help and the manual page; may be NULL */

    const struct mf_opt *const *tables; /* option rows, NULL-terminated; mf_common_opts among them */
    size_t size;                        /* of the options struct, whose first member is a struct mf_common */
    size_t positional_max;              /* most arguments without "--" */

    /** Refuses options that contradict each other, before a file or a device is looked at: MF_USAGE. Local. NULL: all
     * options go together. */
    int (*check)(const struct mf_session *session, void *options);

    /** Compares the plan in file @p plan with these options and @p ranks ranks (0: unknown): MF_INPUT, MF_USAGE. Called
     * after check, before a job is submitted. Local. NULL: the verb has no --plan. */
    int (*check_plan)(const struct mf_session *session, const void *options, const char *plan, size_t ranks);

    /** Does the work on all ranks. Collective; refuses (agreed). */
    int (*run)(struct mf_session *session, void *options);

    /** In place of run: the verb uses no MPI and runs on one process. Its options need no struct mf_common. */
    int (*alone)(const struct mf_options *options, void *into);

    enum mf_work work;  /* what its arithmetic needs */
    const char *remedy; /* what needs less memory; NULL: more ranks, or smaller extents */
    int writes;         /* it writes a file also where no --output names one */
    int checkpoints;    /* a signal makes it save its state and leave (exit status 75); --restart goes on from there */
    int diagnoses; /* it says why ranks do not work together: it runs where they have other builds, or do not meet */

    /* what launch asks of it; both end with NULL */
    const char *const *names; /* options by which its files are called where no --output is given */
    const char *const *small; /* options and their values, in turn, that make a run small (--debug); NULL: none */
};

extern const struct mf_cmd mf_cmd_synth, mf_cmd_characterize, mf_cmd_compare, mf_cmd_merge, mf_cmd_interpolate,
    mf_cmd_smooth, mf_cmd_reconstruct, mf_cmd_match, mf_cmd_verify, mf_cmd_view, mf_cmd_info, mf_cmd_doctor,
    mf_cmd_probe, mf_cmd_plan_match, mf_cmd_plan_reconstruct, mf_cmd_bench, mf_cmd_report, mf_cmd_launch;

/** All verbs, NULL-terminated (verbs.c). */
extern const struct mf_cmd *const mf_cmds[];

/** The verb whose name the words begin with, one or two (*used); NULL: none. */
const struct mf_cmd *mf_cmd_find(size_t n, const char *const *words, size_t *used);

/** Is @p word the first of verbs of two words; is @p verb one of these? */
int mf_cmd_is_family(const char *word);
int mf_cmd_is_of(const struct mf_cmd *verb, const char *family);

/** Refuses words that begin with no verb, and names the nearest: MF_USAGE. */
int mf_cmd_none(size_t n, const char *const *words);

#endif
