/* See guest.h. */
#include "src/base/guest.h"

#include <stddef.h>

static atomic_int is_guest;

static _Thread_local const atomic_int *heeded;

static _Thread_local int trusted;

static struct {
    void (*take)(void *context, const char *line);
    void *context;
} broken;

void mf_guest_begin(void) { atomic_store(&is_guest, 1); }

int mf_is_guest(void) { return atomic_load_explicit(&is_guest, memory_order_relaxed); }

void mf_guest_broken(void (*take)(void *context, const char *line), void *context)
{
    broken.context = context;
    broken.take = take;
}

void mf_guest_last(const char *line)
{
    if (broken.take) broken.take(broken.context, line);
}

void mf_guest_trust(int files) { trusted = files; }

int mf_guest_trusts(void) { return trusted; }

void mf_guest_heed(const atomic_int *stop) { heeded = stop; }

int mf_guest_stops(void) { return heeded && atomic_load_explicit(heeded, memory_order_relaxed); }
