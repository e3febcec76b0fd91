/* The options that all verbs share, and a session that is opened by them. */
#ifndef MF_CMD_COMMON_H
#define MF_CMD_COMMON_H

#include "src/base/opt.h"
#include "src/session/session.h"

/** Options every verb has: the first member of every verb's options struct. */
struct mf_common {
    const char *device;       /* --device auto|cpu|... */
    long threads;             /* --threads: per rank; 0: OMP_NUM_THREADS, else the cores this rank may use */
    long memory_limit;        /* --memory-limit [MB] per rank; 0: none */
    double gpu_fraction;      /* --gpu-memory-fraction (0..1] */
    long seed;                /* --seed */
    long timeout;             /* --timeout [s]: see mf_comm_watch() */
    int json;                 /* --json */
    int deterministic;        /* --deterministic */
    int dry_run;              /* --dry-run */
    int log_view;             /* --log-view (log_view.h) */
    const char *data_folder;  /* --data_folder */
    const char *output;       /* --output FILE: overrides the folder */
    const char *information;  /* --information: infix of file names */
    const char *logfile_name; /* "FOLDER/NAME.log"; NULL: none */
    long logging_level;       /* 10 debug, 20 info, 30 warnings, 40 quiet */
    int logfile_date;
    struct mf_longs gpu_ids;
    int share_gpu; /* --share-gpu: several ranks may take one GPU */
    int lenient;   /* --lenient-devices, of few verbs: cores do the work where --device is not there */
    int unbound;   /* --bind none: mf_session_pin() */
    int verbose;   /* --verbose: where.h */
    enum mf_exchange exchange;
};

extern const struct mf_opt mf_common_opts[];

/** A verb's session, and the options that it is called with. Verbs and their helpers get the session. */
struct mf_verb_call {
    struct mf_session session; /* first */
    const struct mf_common *common;
    const struct mf_options *options;
};

/** The options of a verb whose session is that of a struct mf_verb_call. */
static inline const struct mf_common *mf_common_of(const struct mf_session *session)
{
    return ((const struct mf_verb_call *)session)->common;
}

static inline const struct mf_options *mf_options_of(const struct mf_session *session)
{
    return ((const struct mf_verb_call *)session)->options;
}

/** mf_options_given() and mf_options_positional() of these options. */
static inline int mf_given(const struct mf_session *session, const char *word)
{
    return mf_options_given(mf_options_of(session), word);
}

static inline size_t mf_arguments(const struct mf_session *session, const char *const **words)
{
    return mf_options_positional(mf_options_of(session), words);
}

/** Refuses values out of range, and options that contradict each other: MF_USAGE. Local. */
int mf_common_check(const struct mf_common *common);

/** The same as plain values. These borrow the texts and lists of @p common. Local. */
struct mf_settings mf_common_settings(const struct mf_common *common);

/**
 * Checks the common options, and begins the session with them and the log, before a device is used. The caller has set
 * the options, and comm, start and work of the session. It calls mf_common_end() in every case. Collective; refuses
 * (agreed) with MF_USAGE, MF_OUTPUT.
 */
int mf_common_begin(struct mf_session *session);

/** Says which options have no effect, and opens the session. As mf_session_open(). */
int mf_common_open(struct mf_session *session);

/** Closes session and log. */
void mf_common_end(struct mf_session *session);

#endif
