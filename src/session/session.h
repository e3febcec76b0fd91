/* A session has the communicator, the back end, the memory and the queue of a rank. A verb or the library opens it from
 * plain values, and it knows no options. */
#ifndef MF_SESSION_SESSION_H
#define MF_SESSION_SESSION_H

#include "kernels/dry.h"
#include "mpi/comm.h"
#include "mpi/nccl_transport.h"
#include "src/base/arena.h"
#include "src/base/lists.h"
#include "src/base/log.h"
#include "src/show/show.h"

/** How a session is opened. */
struct mf_settings {
    const char *device;      /* auto, cpu, cuda, cuda:N, shadow */
    struct mf_longs gpu_ids; /* GPUs to use on each node: local rank k takes the k-th; none: all that are there */
    int share_gpu;           /* several ranks may take one GPU */
    int lenient;             /* the cores do the work where the device is not there */
    int bind;                /* ranks may keep to cores of their own: mf_session_pin() */
    long threads;            /* per rank; 0: OMP_NUM_THREADS, else the cores that this rank may use */
    size_t memory_limit;     /* [bytes] of arrays on a rank, of the host and of a device each; 0: none */
    double gpu_fraction;     /* the same of a GPU's memory (0..1] */
    enum mf_exchange exchange;
    long seed;               /* of all random numbers */
    int deterministic;       /* the same bits on any number of ranks */
    int dry_run;             /* memory is counted alone */
    double patience;         /* [s] that a rank may keep the others waiting, see mf_comm_watch(); 0: for ever */
    enum mf_log_level level; /* of the log */
    int says_place;          /* logs where every rank runs (where.h) */
    int phases;              /* times them (src/base/phase.h) */
};

/** Where fields and the optimiser's vectors are in a run on devices. Auto: on the device if they fit, else in host
 * memory. */
enum mf_residency { MF_RESIDE_AUTO, MF_RESIDE_DEVICE, MF_RESIDE_HOST };

/** The device that the arithmetic of a verb needs. It decides the meaning of the device auto. */
enum mf_work {
    MF_WORK_CORES, /* cores; a GPU if the device names one */
    MF_WORK_GPUS,  /* GPUs if every rank has one, else cores; ranks exchange from GPU to GPU */
    MF_WORK_NONE   /* none: the verb describes machines, and the device may be an absent one */
};

struct mf_micro;
struct mf_json;

/** Takes a structure. @p micro has this rank's slab until take() returns, which may keep the values. The object of
 * --json is @p json. Collective; refuses as it likes. */
struct mf_taker {
    int (*take)(void *context, struct mf_micro *micro, const struct mf_json *json);
    void *context;
};

struct mf_session {
    struct mf_comm *comm;
    struct mf_settings settings;
    const struct mf_taker *taker; /* who gets structures; a file is written where one is named. NULL: files alone */
    const struct mf_backend *backend;
    struct mf_arena *arena;  /* host memory */
    struct mf_arena *device; /* of the back end; on cpu the same */
    struct mf_queue *queue;
    struct mf_queue *home;       /* of whole fields: the same, except for fields too large for a device */
    struct mf_arena *home_arena; /* their arena then, within the host's; else NULL */
    struct mf_backend_dry dry;   /* of a dry run: counts the memory of a device */
    struct mf_device_id gpu;     /* of this rank; capability 0: it has none */
    size_t gpu_bytes;            /* memory of that GPU, by the ranks that share it; 0: it has none */
    int threads;                 /* per rank: as set, OMP_NUM_THREADS, or the cores of this rank */
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
 * Checks the environment, and begins the watch and the log, before a device is used. The caller has set comm, settings,
 * start and work. It calls mf_session_close() in every case. Collective; refuses (agreed) with MF_USAGE.
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
 * Opens back end, arenas and queue again: on the cores, or on the device as for MF_WORK_GPUS. No memory of the old
 * arenas may be in use. Collective; refuses (agreed).
 */
int mf_session_to_cores(struct mf_session *session);
int mf_session_to_device(struct mf_session *session);

/**
 * Checks that the back end has kernels for the further descriptors @p more (bits 1 << enum mf_more). If the GPU lacks
 * one and the user did not ask for the GPU, switches to the cores. No memory of the session may be in use. Collective;
 * refuses (agreed) with MF_DEVICE.
 */
int mf_session_serves(struct mf_session *session, unsigned more);

/** Gives a structure to the taker, if there is one. Collective; refuses (agreed) as that does. */
int mf_session_give(const struct mf_session *session, struct mf_micro *micro, const struct mf_json *json);

/** The part of an open session that src/show uses. Local. */
static inline struct mf_show mf_session_show(const struct mf_session *session)
{
    return (struct mf_show){session->comm, session->backend, session->queue, session->home, session->arena};
}

#endif
