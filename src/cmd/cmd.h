/* A verb is a row: its name, one line of help, its option tables, and what it does. */
#ifndef MF_CMD_CMD_H
#define MF_CMD_CMD_H

#include "kernels/dry.h"
#include "mpi/comm.h"
#include "src/base/arena.h"
#include "src/base/opt.h"

/** Options every verb has: the first member of every verb's options struct. */
struct mf_common {
    const char *device;       /* --device auto|cpu|... */
    long threads;             /* --threads: per rank; 0: OMP_NUM_THREADS, else the cores this rank may use */
    long memory_limit;        /* --memory-limit [MB] per rank; 0: none */
    long seed;                /* --seed */
    long timeout;             /* --timeout [s]: see mf_comm_watch() */
    int json;                 /* --json */
    int deterministic;        /* --deterministic */
    int dry_run;              /* --dry-run */
    int log_view;             /* --log-view (log_view.h) */
    const char *data_folder;  /* --data_folder */
    const char *output;       /* --output FILE: wins over the folder */
    const char *information;  /* --information: infix of file names */
    const char *logfile_name; /* "FOLDER/NAME.log"; NULL: none */
    long logging_level;       /* 10 debug, 20 info, 30 warnings, 40 quiet */
    int logfile_date;
    struct mf_longs gpu_ids;
    int share_gpu;        /* --share-gpu: several ranks may take one GPU */
    const char *bind;     /* --bind auto|none: mf_session_pin() */
    int verbose;          /* --verbose: where.h */
    const char *exchange; /* --exchange: mf_exchange_of() */
    int memory_growth, mixed_precision, distributed_loss, auto_gpu;
};

extern const struct mf_opt mf_common_opts[];

/** What their values cannot be: MF_USAGE. Local. */
int mf_common_check(const struct mf_common *common);

/** What a running verb works with. */
struct mf_session {
    struct mf_comm *comm; /* with a wire where the ranks' GPUs have one */
    const struct mf_common *common;
    const struct mf_options *options;
    const struct mf_backend *backend;
    struct mf_arena *arena;  /* host memory */
    struct mf_arena *device; /* of the back end; on cpu the same */
    struct mf_queue *queue;
    struct mf_queue *home;       /* of whole fields: the same, but for those too large for a device */
    struct mf_arena *home_arena; /* theirs then, within the host's; else NULL */
    struct mf_backend_dry dry;   /* what a dry run has instead of a back end with memory of its own */
    int capability;              /* of this rank's GPU, 10 major + minor; 0: it has none */
    int threads;                 /* per rank: --threads, or what it stands for */
    int threads_free;            /* nobody asked for that number: a small problem takes fewer */
    double start;                /* mf_now() when the program started */
    double predicted;            /* bytes that this rank's run was foretold to need; 0: nobody did (peaks.h) */
    int computes;                /* the verb is work for a GPU, where there is one */
    int looks;         /* the verb looks at the machine and computes nothing: options about GPUs are its own affair */
    const char *ahead; /* launch looks at the options of a job to come, whose ranks "srun" or "mpirun" will start: the
                          environment is not the job's; NULL: this is the run */
};

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

/**
 * Begins a session on options that are parsed: the log. What is wrong with options is said then, before a device is
 * looked for. Collective; refuses (agreed) with MF_USAGE, MF_OUTPUT. @p session's comm, common, options and start are
 * set. mf_session_close() follows, whatever it or mf_session_open() say.
 */
int mf_session_begin(struct mf_session *session);

/** The rest of it: back end, arena, queue. Collective; refuses (agreed) with MF_USAGE, MF_DEVICE, MF_MEMORY. */
int mf_session_open(struct mf_session *session);
void mf_session_close(struct mf_session *session);

/**
 * From now on fields stay in host memory and their slices pass through the device, or (@p host 0) stay on the device
 * again; nothing may be live in between. On cpu all memory is the host's, and nothing changes. Collective; refuses
 * (agreed) with MF_MEMORY.
 */
int mf_session_reside(struct mf_session *session, int host);

/**
 * Back end, arenas and queue anew, on the cores or on the --device of a verb that computes; nothing may be live in the
 * old ones. Collective; refuses (agreed).
 */
int mf_session_to_cores(struct mf_session *session);
int mf_session_to_device(struct mf_session *session);

/**
 * Sees that there are kernels for the further descriptors @p more (bits 1 << enum mf_more); where the GPU has none and
 * nobody asked for it, goes on on the cores. Nothing may be live in the session's memory. Collective; refuses (agreed)
 * with MF_DEVICE.
 */
int mf_session_serves(struct mf_session *session, unsigned more);

/**
 * Where the ranks of a node may all use the whole of it, in a job of Slurm, and it has several NUMA nodes and nothing
 * else to do, each keeps to its own share of the cores from now on (--bind auto), near its GPU's NUMA node @p near (-1:
 * it has none). No rank gets cores that its launcher did not give it. True when it does. Collective.
 */
int mf_session_pin(const struct mf_session *session, int near);

enum { MF_THREADS_MOST = 4096 };

/** Can threads be as the environment says (OMP_NUM_THREADS, OMP_STACKSIZE or GOMP_STACKSIZE, the limit of the stack)?
 * Local; MF_USAGE. */
int mf_threads_check(void);

/** Cores this rank may use: by affinity and cgroup, shared fairly with the ranks that may use the same. Collective. */
int mf_session_cores(const struct mf_comm *comm);

/** Bytes of the L3 caches of the cores that this rank may use, shared ones divided by its ranks. Collective. */
double mf_session_l3(const struct mf_comm *comm);

/** "FOLDER/BASE[_INFORMATION]SUFFIX", the folder created; or --output as it is. Caller frees. Rank 0 creates; agreed.
 */
int mf_session_path(const struct mf_session *session, const char *base, const char *suffix, char **path);

/** --spacing: no value, one for all axes, two (y x), three (z y x), above 0. MF_USAGE. Local. */
int mf_spacing_check(const struct mf_reals *given);
/** The same for an array of @p ndim axes: an image has no z, a volume needs it. MF_USAGE. Local. */
int mf_spacing_fits(const struct mf_reals *given, int ndim);
/** Spread over z, y, x; an axis without a value gets 1. */
void mf_spacing_spread(const struct mf_reals *given, double spacing[3]);

/** Refuses (MF_USAGE) an output that is one of @p n files the verb reads, or that of --config; NULLs and "" are passed
 * over. Collective. */
int mf_session_spares(const struct mf_session *session, const char *path, size_t n, const char *const *inputs);

/** Refuses a @p path that does not end with @p ending (MF_USAGE) or whose folder cannot be written (MF_OUTPUT), before
 * the work is done and not after it. NULL: nothing to refuse. Collective. */
int mf_session_may_write(const struct mf_session *session, const char *path, const char *ending);

#endif
