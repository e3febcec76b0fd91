/* A back end in a library of its own calls functions of the program or library that opens it. Their names are hidden
 * from it. So kernels/load.c hands over this table, and kernels/cuda/host.c gives the entries their usual names.
 * Rule: a function that such a back end wants has an entry here. */
#ifndef MF_KERNELS_HOST_H
#define MF_KERNELS_HOST_H

#include <stddef.h>
#include <stdint.h>

struct mf_arena;
struct mf_slice_kind;

enum { MF_HOST_KINDS = 64 };

struct mf_host {
    int (*arena_book)(struct mf_arena *arena, ptrdiff_t bytes, const char *tag);
    void (*arena_give)(struct mf_arena *arena, void *memory);
    void *(*arena_take)(struct mf_arena *arena, size_t bytes, const char *tag);
    void (*die)(int code, const char *file, int line, const char *text);
    void (*err_clear)(void);
    int (*fail)(int code, const char *text);
    int (*fault)(const char *site);
    void (*info)(const char *text);
    void *(*must)(void *memory, const char *file, int line, const char *what);
    double (*now)(void);
    double (*random_uniform)(uint64_t seed, uint32_t stream, uint64_t index);
    const struct mf_slice_kind *kinds[MF_HOST_KINDS]; /* in the order of MF_LIST_SLICES, then MF_LIST_SPACE */
};

/** The back end takes the table, which stays the caller's. */
typedef void mf_host_take(const struct mf_host *host);

#endif
