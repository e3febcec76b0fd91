/* A back end: a table of kernel families with its memory and queues. Callers hold a `const struct mf_backend *` and
 * know nothing else of the device. There is always cpu; cuda and shadow are further tables of the same shape.
 *
 * Rule of memory. DEVICE memory (queue->arena) holds large arrays: fields, gradients, vectors of the optimiser, slices,
 * targets, work areas of plans. Only kernels, put, get and the move family touch it; the host never does. HOST memory
 * of the queue (queue->host) holds small arrays: sums per plane or slice, scales, values. The host and the kernels both
 * read and write it. The headers of the families say for every pointer which memory it is. On cpu both are one memory
 * and one arena, and nothing is copied (kernels/stage.h).
 *
 * Rule of order. A kernel call enqueues work and may return before the work is done. The calls of a queue run in order.
 * Results in host memory are valid after sync(), and inputs in host memory must not change until then. An argument
 * "read at the call" may change, or be on the stack, as soon as the call returns. */
#ifndef MF_KERNELS_BACKEND_H
#define MF_KERNELS_BACKEND_H

#include <stddef.h>

#include "kernels/net/ops.h"
#include "src/base/arena.h"

/** Changes with the layout of struct mf_backend or of a table in it, and with what a module wants of its host. */
enum { MF_BACKEND_ABI = 3208 };

/** Compute capability (10 major + minor) of the oldest GPUs that the kernels are compiled for. */
enum { MF_GPU_OLDEST = 80 };

/** One device of a machine: no two have the same text. */
struct mf_device_id {
    char text[48];
    char name[64];  /* of its model: "NVIDIA H100 80GB HBM3" */
    int capability; /* of a GPU, 10 major + minor */
    size_t bytes;   /* of its memory */
};

/** Facts of a queue for a communication library of device memory. */
struct mf_port {
    void *stream;              /* a cudaStream_t; its work runs in the order of the queue */
    void *side;                /* another one, beside it (side_begin()) */
    struct mf_device_id board; /* the whole GPU, also of a part of it */
    int is_part;               /* the queue's device is a part of a GPU (MIG) */
};

struct mf_backend;
struct mf_algorithms;

/** A queue: a device, its threads and its arenas. The back end makes it. */
struct mf_queue {
    const struct mf_backend *backend;
    struct mf_arena *arena; /* device memory; borrowed */
    struct mf_arena *host;  /* host memory that kernels read and write; borrowed. cpu: the same arena */
    int threads;            /* cpu: OpenMP threads of one kernel; host code of the queue's owner. May be set before
                               plans are made */
    int deterministic;      /* plans must not depend on timing */
    struct mf_algorithms *tuning; /* libraries' algorithms are tried when a list is planned, and remembered there; NULL:
                                 they are not */
    unsigned long segments;       /* names given (kernels/segment.h) */
    double *numbers;              /* [MF_NUMBERS] device memory: kernels of networks read the numbers of a step here,
                                     also when they are replayed. NULL: in the caller's memory */
    struct mf_queue *compute;     /* computes on parts of this queue's fields (mf_queue_home()); NULL: this queue */
    const struct mf_port *port;   /* NULL: no communication library serves this back end */
    void *impl;                   /* the back end's own */
};

/** Ranges of a device's profiler: they nest. */
struct mf_ranges {
    void (*push)(const char *name);
    void (*pop)(void);
};

struct mf_backend {
    const char *name;
    int abi;           /* MF_BACKEND_ABI, and */
    const char *build; /* version of the program that it belongs to */
    /** Whether this machine can run it. Refuses with MF_DEVICE and the reason. */
    int (*here)(void);
    /** How many devices there are; id gets those of the first @p most, in the order of their numbers. NULL: none but
     * the host. After here(). */
    size_t (*devices)(size_t most, struct mf_device_id *id);
    /** Opens a queue on @p device (ignored by cpu). Never NULL after MF_OK. Without host_mem @p host is @p arena. */
    int (*queue_open)(struct mf_queue **queue, int device, int threads, int deterministic, struct mf_arena *arena,
                      struct mf_arena *host);
    void (*queue_close)(struct mf_queue *queue);
    /** The allocator of the arena of device memory. */
    const struct mf_mem *mem;
    /** The allocator of the arena of host memory that kernels access (pinned where that is faster). NULL: device memory
     * is the host's, and one arena serves both. */
    const struct mf_mem *host_mem;
    /**
     * Copies host -> device and device -> host, in the order of the queue. On return the host's side is complete (get
     * waits for the kernels before it; put of a small array does not). @p host: any host memory.
     */
    void (*put)(struct mf_queue *queue, void *device, const void *host, size_t bytes);
    void (*get)(struct mf_queue *queue, void *host, const void *device, size_t bytes);
    /**
     * The same asynchronously: the copy starts after the work enqueued before and overlaps the work enqueued later.
     * Returns the number of the copy; 0: nothing to copy. Until someone waits for the copy, its source must not change
     * and its destination must not be read. In finish() the host waits; in follow() the work enqueued from then on, and
     * copies started from then on. A call of done() says whether it is complete, and never waits. Any host memory may
     * be @p host; only copies of pinned memory overlap. All accept 0 and completed numbers. All five are NULL where
     * device memory is the host's.
     */
    size_t (*put_start)(struct mf_queue *queue, void *device, const void *host, size_t bytes);
    size_t (*get_start)(struct mf_queue *queue, void *host, const void *device, size_t bytes);
    void (*finish)(struct mf_queue *queue, size_t copy);
    void (*follow)(struct mf_queue *queue, size_t copy);
    int (*done)(struct mf_queue *queue, size_t copy);
    /**
     * Work of a communication library beside the queue. Work on port->side after side_begin() starts behind the work
     * enqueued before. A call of side_end() returns the number of all that port->side holds, for finish(), follow() and
     * done(). NULL where queues have no port.
     */
    void (*side_begin)(struct mf_queue *queue);
    size_t (*side_end)(struct mf_queue *queue);
    /** Pins host memory that is not of host_mem, where that is possible, and unpins it. NULL: pinning gains nothing. */
    void (*pin)(struct mf_queue *queue, void *memory, size_t bytes);
    void (*unpin)(struct mf_queue *queue, void *memory);
    /** Waits until all enqueued work is done. cpu: nothing. */
    void (*sync)(struct mf_queue *queue);
    /** Whether all enqueued work is done. Never waits. NULL where queues have no port. */
    int (*idle)(struct mf_queue *queue);
    /**
     * The peak of used bytes of the queue's device, by all programs. The bytes used when its context was new are
     * subtracted. It covers arrays, memory of queues and libraries, and other programs. Sampled after every allocation
     * and now. NULL: device memory is the host's, or its use is unknown.
     */
    size_t (*peak)(struct mf_queue *queue);
    /** Repeated work, recorded and replayed: kernels/segment.h calls them. NULL: recording gains nothing. */
    int (*segment_begin)(struct mf_queue *queue, const void *key, size_t bytes);
    void (*segment_end)(struct mf_queue *queue);
    /** Ranges of the device's profiler. NULL, or returns NULL: no profiler runs. */
    const struct mf_ranges *(*ranges)(void);
    /** The kernel families. NULL: this back end lacks the family, and a plan refuses it by name. */
    const struct mf_move_ops *move;
    const struct mf_field_ops *field;
    const struct mf_optim_ops *optim;
    const struct mf_meanfield_ops *meanfield;
    const struct mf_select_ops *select;
    const struct mf_label_ops *label;
    const struct mf_slices *slices; /* descriptors (kernels/slices/slices.h) */
    const struct mf_op_table *net;  /* operations of networks (kernels/net/ops.h) */
    const struct mf_flux_ops *flux; /* conduction (kernels/flux.h) */
};

/** The name of the @p i-th back end; NULL behind the last. */
const char *mf_backend_name(size_t i);

/** The back end called @p name; refuses with MF_USAGE (unknown) or MF_DEVICE (known, not installed, or not here). */
int mf_backend_find(const struct mf_backend **backend, const char *name);

/**
 * Opens a queue of cpu for fields in host memory (@p arena). Their slices are streamed through the device of @p
 * compute. It shares the threads and the host memory of @p compute. Close it with its back end's queue_close(), before
 * that.
 */
int mf_queue_home(struct mf_queue **home, struct mf_queue *compute, struct mf_arena *arena);

/** Sets the threads of loops outside of queues (reading, libraries). Without it every rank of a node would use all of
 * its cores. */
void mf_team_threads(int threads);

extern const struct mf_backend mf_backend_cpu;
extern const struct mf_backend mf_backend_shadow; /* cpu behind protected memory: a GPU for tests */

#endif
