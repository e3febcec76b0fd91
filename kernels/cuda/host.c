/* See kernels/host.h: the functions of the host by their usual names. Texts are made here, since an argument list does
 * not pass a pointer to a function. */
#include "kernels/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/slices/descriptors.h"
#include "kernels/slices/slices.h"
#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/rng.h"

static const struct mf_host *host;

/* Readers know the kinds as constants. They are filled in before anyone reads them. */
#define MF_FAMILY(ID, family, ...) struct mf_slice_kind mf_host_##family __asm__("mf_kind_" #family);
MF_LIST_SLICES(MF_FAMILY)
MF_LIST_SPACE(MF_FAMILY)
#undef MF_FAMILY

__attribute__((visibility("default"))) mf_host_take mf_backend_cuda_host;

void mf_backend_cuda_host(const struct mf_host *table)
{
    size_t k = 0;

    host = table;
#define MF_FAMILY(ID, family, ...) mf_host_##family = *host->kinds[k++];
    MF_LIST_SLICES(MF_FAMILY)
    MF_LIST_SPACE(MF_FAMILY)
#undef MF_FAMILY
}

int mf_arena_book(struct mf_arena *arena, ptrdiff_t bytes, const char *tag)
{
    return host->arena_book(arena, bytes, tag);
}

void mf_arena_give(struct mf_arena *arena, void *memory) { host->arena_give(arena, memory); }

void *mf_arena_take(struct mf_arena *arena, size_t bytes, const char *tag)
{
    return host->arena_take(arena, bytes, tag);
}

static const char *make(char text[MF_ERR_TEXT], const char *format, va_list list)
{
    vsnprintf(text, MF_ERR_TEXT, format, list);
    return text;
}

void mf_die(int code, const char *file, int line, const char *format, ...)
{
    char text[MF_ERR_TEXT];
    va_list list;

    va_start(list, format);
    host->die(code, file, line, make(text, format, list));
    va_end(list);
    abort();
}

int(mf_fail)(int code, const char *format, ...)
{
    char text[MF_ERR_TEXT];
    va_list list;

    va_start(list, format);
    code = host->fail(code, make(text, format, list));
    va_end(list);
    return code;
}

void mf_info(const char *format, ...)
{
    char text[MF_ERR_TEXT];
    va_list list;

    va_start(list, format);
    host->info(make(text, format, list));
    va_end(list);
}

void mf_err_clear(void) { host->err_clear(); }

int mf_fault(const char *site) { return host->fault(site); }

void *mf_must(void *memory, const char *file, int line, const char *what)
{
    return host->must(memory, file, line, what);
}

double mf_now(void) { return host->now(); }

double mf_random_uniform(uint64_t seed, uint32_t stream, uint64_t index)
{
    return host->random_uniform(seed, stream, index);
}
