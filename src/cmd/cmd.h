/* A verb is a row of a table. The row has its name, its help, its options, its function, and its few special
 * properties. The files main.c, help, launch and plan use only this row. */
#ifndef MF_CMD_CMD_H
#define MF_CMD_CMD_H

#include "src/cmd/common.h"
#include "src/cmd/output.h"

struct mf_cmd {
    const char *name;     /* one word, or two separated by a blank: "data import" */
    const char *summary;  /* one line */
    const char *synopsis; /* "[--option VALUE ...] FILE ..." */
    const char *text;     /* paragraphs and worked examples for --help and the manual page; may be NULL */

    const struct mf_opt *const *tables; /* option rows, NULL-terminated; mf_common_opts among them */
    size_t size;                        /* of the options struct, whose first member is a struct mf_common */
    const struct mf_opt_key *keys;      /* of other programs' configuration files; NULL: none */
    size_t positional_max;              /* most arguments without "--" */

    /** Takes options from a file that an option names, after all were parsed: MF_USAGE, MF_INPUT. Local. NULL: none. */
    int (*adopt)(struct mf_options *options, const void *into);

    /** Refuses options that contradict each other, before any file or device is used: MF_USAGE. Local. NULL: no
     * check. */
    int (*check)(const struct mf_session *session, void *options);

    /** Compares the plan in file @p plan with these options and @p ranks ranks (0: unknown): MF_INPUT, MF_USAGE. Called
     * after check, before a job is submitted. Local. NULL: the verb has no --plan. */
    int (*check_plan)(const struct mf_session *session, const void *options, const char *plan, size_t ranks);

    /** Does the work on all ranks. Collective; refuses (agreed). */
    int (*run)(struct mf_session *session, void *options);

    /** Replaces run for a verb that uses no MPI and runs on one process. Its options need no struct mf_common, unless
     * it is in the library. */
    int (*alone)(const struct mf_options *options, void *into);

    enum mf_work work;  /* what its arithmetic needs */
    const char *remedy; /* what needs less memory; NULL: more ranks, or smaller extents */
    int writes;         /* it writes a file even without --output */
    int checkpoints;    /* on a signal it saves its state and leaves (exit status 75); --restart continues */
    int in_library;     /* it ends by itself, and with --json prints one object: src/lib runs it, too */
    int diagnoses;      /* it explains why ranks do not work together, so it also runs if builds differ or ranks do not
                           connect */

    /* what launch asks of it; both end with NULL */
    const char *const *names; /* options that name its files if --output is not given */
    const char *const *small; /* options and values, alternating, that make a run small (--debug); NULL: none */
};

extern const struct mf_cmd mf_cmd_synth, mf_cmd_characterize, mf_cmd_compare, mf_cmd_data_export, mf_cmd_data_import,
    mf_cmd_data_info, mf_cmd_data_split, mf_cmd_data_verify, mf_cmd_merge, mf_cmd_interpolate, mf_cmd_smooth,
    mf_cmd_reconstruct, mf_cmd_match, mf_cmd_verify, mf_cmd_view, mf_cmd_info, mf_cmd_deploy, mf_cmd_doctor,
    mf_cmd_probe, mf_cmd_plan_generate, mf_cmd_plan_infer, mf_cmd_plan_match, mf_cmd_plan_reconstruct,
    mf_cmd_plan_serve, mf_cmd_plan_train, mf_cmd_bench, mf_cmd_bench_infer, mf_cmd_report, mf_cmd_launch,
    mf_cmd_train_classify, mf_cmd_train_regress, mf_cmd_train_moe, mf_cmd_train_vqa, mf_cmd_eval, mf_cmd_infer_answer,
    mf_cmd_infer_classify, mf_cmd_infer_embed, mf_cmd_infer_regress, mf_cmd_infer_tokens, mf_cmd_infer_text_generation,
    mf_cmd_train_unet, mf_cmd_generate, mf_cmd_map, mf_cmd_serve, mf_cmd_properties, mf_cmd_plan_properties;

/** All verbs, NULL-terminated (verbs.c). */
extern const struct mf_cmd *const mf_cmds[];

/** The verb whose name is at the begin of the words, one or two of them (*used); NULL: none. */
const struct mf_cmd *mf_cmd_find(size_t n, const char *const *words, size_t *used);

/** First: is @p word the first word of verbs with two words? Second: is @p verb such a verb? */
int mf_cmd_is_family(const char *word);
int mf_cmd_is_of(const struct mf_cmd *verb, const char *family);

/** Refuses words that begin with no verb, naming the nearest: MF_USAGE. */
int mf_cmd_none(size_t n, const char *const *words);

#endif
