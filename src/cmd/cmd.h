/* A verb is a row: its name, one line of help, its option tables, and what it does. */
#ifndef MF_CMD_CMD_H
#define MF_CMD_CMD_H

#include "src/cmd/output.h"
#include "src/cmd/session.h"

struct mf_cmd {
    const char *name;                   /* one word, or two with a blank between them: "data import" */
    const char *summary;                /* one line */
    const char *synopsis;               /* "[--option VALUE ...] FILE ..." */
    const char *text;                   /* paragraphs and worked examples for --help and the man page; may be NULL */
    const struct mf_opt *const *tables; /* NULL-terminated; mf_common_opts among them */
    size_t size;                        /* of the options struct */
    size_t positional_max;
    int (*check)(const struct mf_session *session, void *options); /* what can be said of the options alone, without a
                                                                      file or a device: local; NULL: nothing */
    /* A plan of a file against these options and @p ranks ranks (0: unknown), before the run: MF_INPUT, MF_USAGE. After
     * check; local. NULL: the verb takes no plan. */
    int (*check_plan)(const struct mf_session *session, const void *options, const char *plan, size_t ranks);
    int (*run)(struct mf_session *session, void *options);      /* NULL: */
    int (*alone)(const struct mf_options *options, void *into); /* the verb is no program of MPI, but starts some */
    int looks;                                                  /* as in struct mf_session */
    int computes;                                               /* alike */
    int writes;                                                 /* a file, even where no --output names one */
    int saves;    /* checkpoints on a signal, and goes on from them (--restart) */
    int examines; /* runs where the launcher's tasks do not find each other too: that is what it is there to say */
};

extern const struct mf_cmd mf_cmd_synth, mf_cmd_characterize, mf_cmd_compare, mf_cmd_merge, mf_cmd_interpolate,
    mf_cmd_smooth, mf_cmd_reconstruct, mf_cmd_match, mf_cmd_verify, mf_cmd_view, mf_cmd_info, mf_cmd_doctor,
    mf_cmd_probe, mf_cmd_plan, mf_cmd_bench, mf_cmd_report, mf_cmd_launch;

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
