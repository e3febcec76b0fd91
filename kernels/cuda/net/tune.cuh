/* The fastest of several algorithms of a library for one operation, on arrays of the real extents.
 * Rule: this happens when a list is planned. The result is remembered (kernels/tuning.h), and not tried again. */
#ifndef MF_KERNELS_CUDA_NET_TUNE_CUH
#define MF_KERNELS_CUDA_NET_TUNE_CUH

#include "kernels/cuda/queue.cuh"
#include "kernels/tuning.h"

/** Most algorithms of an operation. */
enum { MF_TRIES = 8, MF_TUNE_TEXT = 512 };

/** Are algorithms tried on this queue? Not where plans must not depend on timing. */
static inline bool mf_tunes(const struct mf_queue *q) { return q->tuning && !q->deterministic; }

/** The key of an operation, in words: also this GPU, its driver, and the version of the library. Its function @p
 * property gives a part of the version. */
void mf_tune_key(const struct mf_queue *q, const char *library, int (*property)(int part, int *value),
                 const char *words, char key[MF_TUNE_TEXT]);

struct mf_tries {
    const void *context;
    size_t count; /* algorithms, the library's first choice first */
    size_t bytes; /* of arrays and work memory that all of them need */
    int (*run)(struct mf_queue *q, const void *context, size_t algorithm, char *memory); /* 0: it is on its way */
};

/** The number of the fastest; count: none is known, since time or memory is out. */
size_t mf_tune_fastest(struct mf_queue *q, const struct mf_tries *tries);

/** Bytes of arrays, each of which begins at a multiple of 256 bytes. */
static inline size_t mf_tune_place(size_t bytes) { return (bytes + 255) / 256 * 256; }

#endif
