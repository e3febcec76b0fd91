/* A back end is one table of kernel families, its memory and queues. Callers hold a `const struct mf_backend *` and
 * know nothing else of the device. cpu is always there; cuda and shadow are further tables of the same shape.
 *
 * There are two memories. DEVICE memory (queue->arena) holds what is large: fields, gradients, vectors of the
 * optimiser, views of slices, targets, the work areas of plans. Kernels alone touch it, and put, get and the move
 * family; the host never does. HOST memory of the queue (queue->host) holds what crosses in small pieces: sums per
 * plane or slice, scales, values; the host and kernels both read and write it. Headers of the families say for every
 * pointer which it is. On cpu both are one memory and one arena, and nothing is copied (kernels/stage.h).
 *
 * A kernel call puts work on its queue and may return before it is done; the calls of one queue run in order. What a
 * kernel writes to host memory holds after sync(), and what it reads from host memory stays unchanged until then. An
 * argument "read at the call" may change, or be on the stack, as soon as the call returns. */
#ifndef MF_KERNELS_BACKEND_H
#define MF_KERNELS_BACKEND_H

#include <stddef.h>

#include "src/base/arena.h"

/** Another number for another shape of struct mf_backend or of a table in it. */
enum { MF_BACKEND_ABI = 3000 };

/** Compute capability (10 major + minor) of the oldest GPUs that the kernels are compiled for. */
enum { MF_GPU_OLDEST = 80 };

/** One device of a machine: no two have the same text. */
struct mf_device_id {
    char text[48];
    int capability; /* of a GPU, 10 major + minor */
};

/** What a library that moves device memory between ranks has to know of a queue. */
struct mf_port {
    void *stream;              /* what is put there runs in the order of the queue; a cudaStream_t */
    struct mf_device_id board; /* the whole GPU: parts of one have it in common */
    int is_part;               /* the queue's device is a part of a GPU (MIG) */
};

struct mf_backend;

/** Where work goes: a device, its threads, the arenas its memory comes from. Made by the back end. */
struct mf_queue {
    const struct mf_backend *backend;
    struct mf_arena *arena; /* device memory; borrowed */
    struct mf_arena *host;  /* host memory that kernels read and write; borrowed. cpu: the same arena */
    int threads;            /* cpu: OpenMP threads of one kernel; host code of the queue's owner. May be set before
                               plans are made */
    int deterministic;      /* plans must not depend on timing */
    unsigned long segments; /* names given (kernels/segment.h) */
    struct mf_queue
        *compute; /* whose device computes on parts of this queue's fields (mf_queue_home()); NULL: its own */
    const struct mf_port *port; /* NULL: no library that moves device memory serves this back end */
    void *impl;                 /* the back end's own */
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
    /** May this machine run it? Refuses with MF_DEVICE and the reason. */
    int (*here)(void);
    /** How many devices there are; id gets those of the first @p most, in the order of their numbers. NULL: none but
     * the host. After here(). */
    size_t (*devices)(size_t most, struct mf_device_id *id);
    /** Opens a queue on @p device (ignored by cpu). Never NULL after MF_OK. Without host_mem @p host is @p arena. */
    int (*queue_open)(struct mf_queue **queue, int device, int threads, int deterministic, struct mf_arena *arena,
                      struct mf_arena *host);
    void (*queue_close)(struct mf_queue *queue);
    /** Where the arena of device memory takes it. */
    const struct mf_mem *mem;
    /** Where the arena of host memory that kernels see takes it (pinned, where that is faster); NULL: device memory is
     * the host's, one arena is both. */
    const struct mf_mem *host_mem;
    /**
     * host -> device, device -> host, in the order of the queue; complete on return as far as the host's side is
     * concerned (get waits for the kernels before it). @p host: any host memory.
     */
    void (*put)(struct mf_queue *queue, void *device, const void *host, size_t bytes);
    void (*get)(struct mf_queue *queue, void *host, const void *device, size_t bytes);
    /**
     * The same beside the kernels: the copy starts when all that was put on the queue before is done, and runs while
     * what is put there later does. Returns its number; 0: nothing was to be copied. What it reads stays unchanged and
     * what it writes is not looked at until somebody has waited for it: finish() by the host, follow() by what is put
     * on the queue from then on. @p host: any host memory; copies from and to pinned memory alone are really beside.
     * Numbers that are 0 or done with are accepted. NULL, all four, where device memory is the host's.
     */
    size_t (*put_start)(struct mf_queue *queue, void *device, const void *host, size_t bytes);
    size_t (*get_start)(struct mf_queue *queue, void *host, const void *device, size_t bytes);
    void (*finish)(struct mf_queue *queue, size_t copy);
    void (*follow)(struct mf_queue *queue, size_t copy);
    /** Pins host memory that is not of host_mem, as well as that goes, and lets it go again. NULL: nothing is gained.
     */
    void (*pin)(struct mf_queue *queue, void *memory, size_t bytes);
    void (*unpin)(struct mf_queue *queue, void *memory);
    /** Waits until all that was put on the queue is done. cpu: nothing. */
    void (*sync)(struct mf_queue *queue);
    /** Is all done that was put on the queue? Never waits. NULL where queues have no port. */
    int (*idle)(struct mf_queue *queue);
    /**
     * The most bytes of the queue's device that were in use, by all programs, less those when its context had just been
     * made: arrays, what queues and libraries keep, and neighbours. Looked at after every allocation and now. NULL:
     * device memory is the host's, or nobody counts it.
     */
    size_t (*peak)(struct mf_queue *queue);
    /** Work that comes back unchanged, put on the queue as one: see kernels/segment.h, which calls them. NULL: there is
     * nothing to be won by it. */
    int (*segment_begin)(struct mf_queue *queue, const void *key, size_t bytes);
    void (*segment_end)(struct mf_queue *queue);
    /** Ranges of the device's profiler; NULL, or returns NULL: none watches this process. */
    const struct mf_ranges *(*ranges)(void);
    /** The kernel families; a NULL family is one this back end lacks, refused by name at plan time. */
    const struct mf_move_ops *move;
    const struct mf_field_ops *field;
    const struct mf_optim_ops *optim;
    const struct mf_select_ops *select;
    const struct mf_label_ops *label;
    const struct mf_slices *slices; /* descriptors (kernels/slices/slices.h) */
};

/** Names of the back ends, the @p i-th; NULL behind the last. */
const char *mf_backend_name(size_t i);

/** The back end called @p name; refuses with MF_USAGE (unknown) or MF_DEVICE (known, not installed, or not here). */
int mf_backend_find(const struct mf_backend **backend, const char *name);

/**
 * Opens a queue of cpu for fields that stay in host memory (@p arena) while their slices go through the device of
 * @p compute, whose threads and host memory it shares. Close it with its back end's queue_close(), before @p compute.
 */
int mf_queue_home(struct mf_queue **home, struct mf_queue *compute, struct mf_arena *arena);

/** Loops outside of queues (reading, libraries) take so many threads from now on: without it every rank of a node takes
 * all of its cores, and they are in each other's way. */
void mf_team_threads(int threads);

extern const struct mf_backend mf_backend_cpu;
extern const struct mf_backend mf_backend_shadow; /* cpu behind closed memory: a GPU for tests */

#endif
