/* The session of a verb on every rank: communicator, back end, memory, queue, log. It is opened from the options that
 * all verbs share, and closed after the verb has run. */
#ifndef MF_CMD_SESSION_H
#define MF_CMD_SESSION_H

#include "kernels/dry.h"
#include "mpi/comm.h"
#include "src/base/arena.h"
#include "src/base/opt.h"
#include "src/show/show.h"

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
    int share_gpu;        /* --share-gpu: several ranks may take one GPU */
    int lenient;          /* --lenient-devices, of few verbs: cores do the work where --device is not there */
    const char *bind;     /* --bind auto|none: mf_session_pin() */
    int verbose;          /* --verbose: where.h */
    const char *exchange; /* --exchange: mf_exchange_of() */
};

extern const struct mf_opt mf_common_opts[];

/** Refuses values out of range, and options that contradict each other: MF_USAGE. Local. */
int mf_common_check(const struct mf_common *common);

/** The device that the arithmetic of a verb needs. It decides the meaning of --device auto and of options about
 * GPUs. */
enum mf_work {
    MF_WORK_CORES, /* cores; a GPU if --device names one */
    MF_WORK_GPUS,  /* GPUs if every rank has one, else cores; ranks exchange from GPU to GPU */
    MF_WORK_NONE   /* none: the verb describes machines, and --device may name an absent one */
};

/** State of a running verb. */
struct mf_session {
    struct mf_comm *comm;
    const struct mf_common *common;
    const struct mf_options *options;
    const struct mf_backend *backend;
    struct mf_arena *arena;  /* host memory */
    struct mf_arena *device; /* of the back end; on cpu the same */
    struct mf_queue *queue;
    struct mf_queue *home;       /* of whole fields: the same, except for fields too large for a device */
    struct mf_arena *home_arena; /* their arena then, within the host's; else NULL */
    struct mf_backend_dry dry;   /* for --dry-run: counts the memory of a device */
    struct mf_device_id gpu;     /* of this rank; capability 0: it has none */
    size_t gpu_bytes;            /* memory of that GPU, by the ranks that share it; 0: it has none */
    int threads;                 /* per rank: --threads, OMP_NUM_THREADS or the cores of this rank */
    int threads_free;            /* the user set no number, so a small problem takes fewer */
    double start;                /* mf_now() when the program started */
    double predicted;            /* bytes of host memory that the plan predicts for this rank; 0: no plan (peaks.h) */
    double predicted_device;     /* the same for a device's memory; 0: no plan, or there is only host memory */
    enum mf_work work;           /* of the verb */
    const char *remedy;          /* of the verb (cmd.h) */
    const char *ahead; /* "srun" or "mpirun": launch checks a job that this will start. The environment is not the
                          job's. NULL: this is the run */
};

/**
 * Checks the common options and opens the log, before a device is used. The caller has set comm, common, options, start
 * and work. It calls mf_session_close() in every case. Collective; refuses (agreed) with MF_USAGE, MF_OUTPUT.
 */
int mf_session_begin(struct mf_session *session);

/** Opens back end, arenas and queue. Collective; refuses (agreed) with MF_USAGE, MF_DEVICE, MF_MEMORY. */
int mf_session_open(struct mf_session *session);
void mf_session_close(struct mf_session *session);

/**
 * From now on fields stay in host memory and their slices stream through the device. With @p host 0 they are on the
 * device again. No memory may be in use. On cpu nothing changes. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_session_reside(struct mf_session *session, int host);

/**
 * Opens back end, arenas and queue again: on the cores, or on --device as for MF_WORK_GPUS. No memory of the old arenas
 * may be in use. Collective; refuses (agreed).
 */
int mf_session_to_cores(struct mf_session *session);
int mf_session_to_device(struct mf_session *session);

/**
 * Checks that the back end has kernels for the further descriptors @p more (bits 1 << enum mf_more). If the GPU lacks
 * one and the user did not ask for the GPU, switches to the cores. No memory of the session may be in use. Collective;
 * refuses (agreed) with MF_DEVICE.
 */
int mf_session_serves(struct mf_session *session, unsigned more);

/** The part of an open session that src/show uses. Local. */
static inline struct mf_show mf_session_show(const struct mf_session *session)
{
    return (struct mf_show){session->comm, session->backend, session->queue, session->home, session->arena};
}

#endif
