/* A back end is one table of kernel families, a memory and queues. Callers hold a `const struct mf_backend *` and know
 * nothing else of the device. cpu is always there; cuda and shadow are added as further tables of the same shape. */
#ifndef MF_KERNELS_BACKEND_H
#define MF_KERNELS_BACKEND_H

#include <stddef.h>

#include "src/base/arena.h"

enum { MF_BACKEND_ABI = 1 };

/** Where work goes: a device, its threads, the arena its work areas come from. Made by the back end. */
struct mf_queue {
    struct mf_arena *arena; /* borrowed */
    int threads;            /* cpu: OpenMP threads of one kernel */
    int deterministic;      /* plans must not depend on timing */
    void *impl;             /* the back end's own */
};

struct mf_backend {
    const char *name;
    int abi;
    /** May this machine run it? Refuses with MF_DEVICE and the reason. */
    int (*here)(void);
    /** Opens a queue on @p device (ignored by cpu). Never NULL after MF_OK. */
    int (*queue_open)(struct mf_queue **queue, int device, int threads, int deterministic, struct mf_arena *arena);
    void (*queue_close)(struct mf_queue *queue);
    /** Where the arena of this back end takes its memory. */
    const struct mf_mem *mem;
    /** host -> device, device -> host, wait. On cpu a copy and nothing. */
    void (*put)(struct mf_queue *queue, void *device, const void *host, size_t bytes);
    void (*get)(struct mf_queue *queue, void *host, const void *device, size_t bytes);
    void (*sync)(struct mf_queue *queue);
    /** The kernel families; a NULL family is one this back end lacks, refused by name at plan time. */
    const struct mf_field_ops *field;
    const struct mf_slice_ops *corr; /* S2 of slices */
    const struct mf_slice_ops *vari; /* interface density of slices */
    const struct mf_slice_ops *frac; /* volume fraction of slices */
    const struct mf_optim_ops *optim;
    const struct mf_bits_ops *bits; /* counts on packed binary fields */
};

/** The back end called @p name; refuses with MF_USAGE (unknown) or MF_DEVICE (known, not installed, or not here). */
int mf_backend_find(const struct mf_backend **backend, const char *name);

extern const struct mf_backend mf_backend_cpu;

#endif
