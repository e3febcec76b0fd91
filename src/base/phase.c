/* See phase.h. */
#include "src/base/phase.h"

#include <time.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/pulse.h"

enum { DEEPEST = 32, TIMED = 1, HOOKED = 2 };

struct open {
    struct mf_phase *phase;
    double start, inside; /* seconds; of phases inside it */
    double cores, cores_inside;
    double bytes, operations, sent;
};

int mf_phases_on;

struct mf_phase mf_phase_start = {.name = "start", .kind = MF_STAGE};

static struct mf_phase *last = &mf_phase_start;
static struct open stack[DEEPEST];
static int depth;
static void (*hook_push)(const char *name);
static void (*hook_pop)(void);

const struct mf_phase *mf_phases(void) { return &mf_phase_start; }

static void set(int bit, int on) { mf_phases_on = on ? mf_phases_on | bit : mf_phases_on & ~bit; }

/* A rank that waits for a core, or sleeps, has none. A call of the system: not for hooks alone. */
static double cores_now(void)
{
    struct timespec t;

    if (!(mf_phases_on & TIMED)) return 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All that is listed forgets its sums, and the list ends with the start. */
static void clear(void)
{
    for (struct mf_phase *p = &mf_phase_start, *next; p; p = next) {
        next = p->next;
        p->sum = (struct mf_phase_sum){0};
        p->open = p->listed = 0;
        p->next = NULL;
    }
    mf_phase_start.listed = 1;
    last = &mf_phase_start;
}

void mf_phases_open(int on, double begun)
{
    struct mf_phase_sum *s = &mf_phase_start.sum;

    MF_ASSERT(depth == 0);
    clear();
    set(TIMED, on);
    s->count = 1;
    s->total = s->self = mf_now() - begun;
    s->cores[0] = s->cores[1] = cores_now();
}

int mf_phases_timed(void) { return (mf_phases_on & TIMED) != 0; }

void mf_phases_hook(void (*push)(const char *name), void (*pop)(void))
{
    MF_ASSERT(depth == 0);
    hook_push = push;
    hook_pop = pop;
    set(HOOKED, push && pop);
}

static void leave_it(void) {}

void mf_pulse_begin(void) { mf_phases_hook(mf_pulse_tell, leave_it); }

void mf_pulse_end(void) { mf_phases_hook(NULL, NULL); }

void mf_pulse_forked(void)
{
    depth = 0;
    mf_pulse_end();
}

static void list(struct mf_phase *phase)
{
    phase->listed = 1;
    last->next = phase;
    last = phase;
}

void mf_phase_push(struct mf_phase *phase)
{
    MF_ASSERT(depth < DEEPEST);
    if (mf_phases_on & HOOKED) hook_push(phase->name);
    if (!phase->listed) list(phase);
    ++phase->open;
    stack[depth++] = (struct open){.phase = phase, .start = mf_now(), .cores = cores_now()};
}

void mf_phase_pop(void)
{
    struct open *o, *outer;
    struct mf_phase_sum *s;
    double took, cores;

    MF_ASSERT(depth > 0);
    o = &stack[--depth];
    s = &o->phase->sum;
    took = mf_now() - o->start;
    cores = cores_now() - o->cores;
    s->count += 1;
    s->self += took - o->inside;
    s->cores[0] += cores - o->cores_inside;
    if (--o->phase->open == 0) {
        s->total += took;
        s->cores[1] += cores;
        s->bytes[1] += o->bytes;
        s->operations[1] += o->operations;
        s->sent[1] += o->sent;
    }
    if (depth > 0) {
        outer = &stack[depth - 1];
        outer->inside += took;
        outer->cores_inside += cores;
        outer->bytes += o->bytes;
        outer->operations += o->operations;
        outer->sent += o->sent;
    }
    if (mf_phases_on & HOOKED) hook_pop();
}

void mf_phase_add(double bytes, double operations, double sent)
{
    struct open *o;
    struct mf_phase_sum *s;

    if (depth == 0) return;
    o = &stack[depth - 1];
    s = &o->phase->sum;
    o->bytes += bytes;
    o->operations += operations;
    o->sent += sent;
    s->bytes[0] += bytes;
    s->operations[0] += operations;
    s->sent[0] += sent;
}
