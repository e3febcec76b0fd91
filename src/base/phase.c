/* See phase.h. */
#include "src/base/phase.h"

#include <string.h>
#include <time.h>

#include "src/base/err.h"
#include "src/base/log.h"

enum { DEEPEST = 32, TIMED = 1, HOOKED = 2 };

struct open {
    enum mf_phase phase;
    double start, inside; /* seconds; of phases inside it */
    double cores, cores_inside;
    double bytes, operations, sent;
};

int mf_phases_on;

static struct mf_phase_sum sums[MF_PHASES];
static int again[MF_PHASES]; /* how often it is open: a phase inside itself is not counted twice */
static struct open stack[DEEPEST];
static int depth;
static void (*hook_push)(const char *name);
static void (*hook_pop)(void);

static const char *const names[MF_PHASES] = {
    [MF_PHASE_START] = "start",
    [MF_PHASE_READ] = "read",
    [MF_PHASE_CHARACTERISE] = "characterise",
    [MF_PHASE_PREPARE] = "prepare",
    [MF_PHASE_DESCENT] = "descent",
    [MF_PHASE_CONTINUATION] = "continuation",
    [MF_PHASE_CUT] = "cut",
    [MF_PHASE_POLISH] = "polish",
    [MF_PHASE_DESCRIBE] = "describe",
    [MF_PHASE_WRITE] = "write",
    [MF_PHASE_S2] = "S2",
    [MF_PHASE_VARIATION] = "Variation",
    [MF_PHASE_FRACTION] = "volume fractions",
    [MF_PHASE_LINEAL] = "lineal paths",
    [MF_PHASE_TWO_POINT] = "soft correlations",
    [MF_PHASE_TENSOR] = "structure tensor",
    [MF_PHASE_VGG] = "VGG-19",
    [MF_PHASE_PATCHES] = "patches",
    [MF_PHASE_SEARCH] = "patch search",
    [MF_PHASE_COUNTS] = "counts",
    [MF_PHASE_EXCHANGE] = "exchange",
    [MF_PHASE_WAITING] = "waiting",
    [MF_PHASE_REDUCTION] = "reduction",
    [MF_PHASE_MESSAGES] = "messages",
    [MF_PHASE_DIRECTION] = "direction",
    [MF_PHASE_STEP] = "step",
    [MF_PHASE_PAIR] = "pair",
    [MF_PHASE_ADAPT] = "adapt",
    [MF_PHASE_FIELD] = "field terms",
    [MF_PHASE_RANK] = "polish: rank",
    [MF_PHASE_GATHER] = "polish: gather",
    [MF_PHASE_SWAPS] = "polish: swaps",
    [MF_PHASE_CHECKPOINT] = "checkpoint",
};

const char *mf_phase_name(enum mf_phase phase) { return names[phase]; }

const struct mf_phase_sum *mf_phases_sums(void) { return sums; }

static void set(int bit, int on) { mf_phases_on = on ? mf_phases_on | bit : mf_phases_on & ~bit; }

/* A rank that waits for a core, or sleeps, has none. A call of the system: not for hooks alone. */
static double cores_now(void)
{
    struct timespec t;

    if (!(mf_phases_on & TIMED)) return 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void mf_phases_open(int on, double begun)
{
    MF_ASSERT(depth == 0);
    memset(sums, 0, sizeof sums);
    memset(again, 0, sizeof again);
    set(TIMED, on);
    sums[MF_PHASE_START].count = 1;
    sums[MF_PHASE_START].total = sums[MF_PHASE_START].self = mf_now() - begun;
    sums[MF_PHASE_START].cores[0] = sums[MF_PHASE_START].cores[1] = cores_now();
}

int mf_phases_timed(void) { return (mf_phases_on & TIMED) != 0; }

void mf_phases_hook(void (*push)(const char *name), void (*pop)(void))
{
    MF_ASSERT(depth == 0);
    hook_push = push;
    hook_pop = pop;
    set(HOOKED, push && pop);
}

void mf_phase_push(enum mf_phase phase)
{
    MF_ASSERT(depth < DEEPEST);
    if (mf_phases_on & HOOKED) hook_push(names[phase]);
    ++again[phase];
    stack[depth++] = (struct open){.phase = phase, .start = mf_now(), .cores = cores_now()};
}

void mf_phase_pop(void)
{
    struct open *o, *outer;
    struct mf_phase_sum *s;
    double took, cores;

    MF_ASSERT(depth > 0);
    o = &stack[--depth];
    s = &sums[o->phase];
    took = mf_now() - o->start;
    cores = cores_now() - o->cores;
    s->count += 1;
    s->self += took - o->inside;
    s->cores[0] += cores - o->cores_inside;
    if (--again[o->phase] == 0) {
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
    s = &sums[o->phase];
    o->bytes += bytes;
    o->operations += operations;
    o->sent += sent;
    s->bytes[0] += bytes;
    s->operations[0] += operations;
    s->sent[0] += sent;
}
