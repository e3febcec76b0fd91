/* The shadow back end: its table, its queue, and the work pending until sync(). See shadow.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/shadow/shadow.h"
#include "src/base/crc.h"
#include "src/base/err.h"

/* Host memory that a kernel has written, or reads: until sync(). */
struct pending {
    struct pending *next;
    const char *kernel;
    void *host;
    size_t bytes;
    void *value;  /* what is delivered; NULL: an input */
    uint32_t crc; /* of an input */
};

/* A copy beside the kernels: happens when somebody waits for it. */
struct copy {
    struct copy *next;
    size_t number;
    void *to;
    const void *from;
    size_t bytes;
    int up;       /* to the device */
    int followed; /* by kernels */
    void *value;  /* of one from the device: what it read */
    uint32_t crc; /* of what it read */
};

struct shadow {
    struct mf_queue *inner;
    struct pending *outputs, *inputs;
    struct copy *copies;
    size_t started; /* copies */
};

static struct shadow *of(const struct mf_queue *queue) { return queue->impl; }

struct mf_queue *mf_shadow_inner(const struct mf_queue *queue)
{
    of(queue)->inner->threads = queue->threads;
    return of(queue)->inner;
}

void mf_shadow_device(const char *kernel, size_t n, const void *const *address)
{
    for (size_t i = 0; i < n; ++i)
        if (address[i] && !mf_shadow_is_device(address[i]))
            mf_die(MF_BROKEN, __FILE__, __LINE__, "%s: argument %zu of device memory is not", kernel, i + 1);
}

static void check_host(const struct mf_queue *queue, const char *kernel, const void *host)
{
    if (!mf_arena_name(queue->host, host))
        mf_die(MF_BROKEN, __FILE__, __LINE__, "%s: what crosses does not come from the queue's host memory", kernel);
}

static struct pending *push(struct pending **list, struct pending p)
{
    struct pending *made = malloc(sizeof *made);

    if (!made) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for what a kernel leaves");
    *made = p;
    made->next = *list;
    *list = made;
    return made;
}

static struct pending *output_at(const struct shadow *s, const void *host)
{
    struct pending *p = s->outputs;

    while (p && p->host != host) p = p->next;
    return p;
}

void *mf_shadow_output(struct mf_queue *queue, const char *kernel, void *host, size_t bytes)
{
    struct shadow *s = of(queue);
    struct pending *p = output_at(s, host);

    if (!host || bytes == 0) return host;
    if (p && p->bytes == bytes) return p->value; /* adds to, or replaces, what an earlier kernel has left */
    check_host(queue, kernel, host);
    p = push(&s->outputs, (struct pending){.kernel = kernel, .host = host, .bytes = bytes, .value = malloc(bytes)});
    if (!p->value) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for what %s leaves", kernel);
    memcpy(p->value, host, bytes);
    memset(host, 0xff, bytes); /* NaN, in 32 bits and in 64 */
    return p->value;
}

void mf_shadow_input(struct mf_queue *queue, const char *kernel, const void *host, size_t bytes)
{
    struct shadow *s = of(queue);

    if (!host || bytes == 0) return;
    check_host(queue, kernel, host);
    push(&s->inputs,
         (struct pending){
             .kernel = kernel, .host = (void *)(uintptr_t)host, .bytes = bytes, .crc = mf_crc32c(0, host, bytes)});
}

static struct pending *pop(struct pending **list)
{
    struct pending *first = *list;

    if (first) *list = first->next;
    return first;
}

/* -- copies beside the kernels -- */

static uint32_t crc_of(const void *memory, size_t bytes, int device)
{
    uint32_t crc;

    if (device) mf_shadow_enter();
    crc = mf_crc32c(0, memory, bytes);
    if (device) mf_shadow_leave();
    return crc;
}

static void check_copy(const struct copy *c)
{
    if (crc_of(c->from, c->bytes, !c->up) != c->crc)
        mf_die(MF_BROKEN, __FILE__, __LINE__, "what a copy %s the device reads has been changed before it was done",
               c->up ? "to" : "from");
}

static void deliver(struct copy *c)
{
    mf_shadow_enter();
    memcpy(c->to, c->up ? c->from : c->value, c->bytes);
    mf_shadow_leave();
}

static void forget(struct shadow *s, struct copy *gone)
{
    struct copy **at = &s->copies;

    while (*at != gone) at = &(*at)->next;
    *at = gone->next;
    free(gone->value);
    free(gone);
}

/* The host's side of a copy. */
static uintptr_t host_of(const struct copy *c) { return (uintptr_t)(c->up ? c->from : c->to); }

/* A copy comes behind those that the device has followed: what they did to the same host memory is done. */
static void settle(struct shadow *s, const struct copy *behind)
{
    for (struct copy *c = s->copies, *next; c; c = next) {
        next = c->next;
        if (!c->followed || host_of(c) >= host_of(behind) + behind->bytes || host_of(behind) >= host_of(c) + c->bytes)
            continue;
        if (c->up)
            check_copy(c);
        else
            deliver(c);
        forget(s, c);
    }
}

/* The target of a copy holds NaN until the copy lands. */
static size_t start(struct mf_queue *queue, struct copy c)
{
    struct shadow *s = of(queue);
    struct copy *made = malloc(sizeof *made);

    if (c.bytes == 0) {
        free(made);
        return 0;
    }
    if (!made) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a copy");
    settle(s, &c);
    mf_shadow_device("a copy", 1, c.up ? (const void *const[]){c.to} : &c.from);
    *made = c;
    made->number = ++s->started;
    made->crc = crc_of(c.from, c.bytes, !c.up);
    made->next = s->copies;
    s->copies = made;
    mf_shadow_enter();
    if (!c.up) {
        made->value = malloc(c.bytes);
        if (!made->value) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a copy");
        memcpy(made->value, c.from, c.bytes);
    }
    memset(c.to, 0xff, c.bytes);
    mf_shadow_leave();
    return made->number;
}

static size_t put_start(struct mf_queue *queue, void *device, const void *host, size_t bytes)
{
    return start(queue, (struct copy){.to = device, .from = host, .bytes = bytes, .up = 1});
}

static size_t get_start(struct mf_queue *queue, void *host, const void *device, size_t bytes)
{
    return start(queue, (struct copy){.to = host, .from = device, .bytes = bytes});
}

static struct copy *copy_at(const struct shadow *s, size_t number)
{
    struct copy *c = s->copies;

    while (c && c->number != number) c = c->next;
    return c;
}

/* Data of the host stay as they are until the host has waited, though kernels may use them before. */
static void finish(struct mf_queue *queue, size_t number)
{
    struct copy *c = copy_at(of(queue), number);

    if (!c) return;
    if (c->up || !c->followed) check_copy(c);
    if (!c->up || !c->followed) deliver(c);
    forget(of(queue), c);
}

static void follow(struct mf_queue *queue, size_t number)
{
    struct copy *c = copy_at(of(queue), number);

    if (!c || c->followed) return;
    check_copy(c);
    c->followed = 1;
    if (c->up) deliver(c);
}

/* A copy takes until somebody waits for it. */
static int done(struct mf_queue *queue, size_t number) { return !copy_at(of(queue), number); }

/* Copies to the device that kernels followed are done when those are. */
static void end_followed(struct shadow *s)
{
    for (struct copy *c = s->copies, *next; c; c = next) {
        next = c->next;
        if (!c->up || !c->followed) continue;
        check_copy(c);
        forget(s, c);
    }
}

/* The list is newest first; outputs of different kernels never overlap by a part. */
static void synchronise(struct mf_queue *queue)
{
    struct shadow *s = of(queue);

    for (struct pending *p; (p = pop(&s->inputs)); free(p))
        if (mf_crc32c(0, p->host, p->bytes) != p->crc)
            mf_die(MF_BROKEN, __FILE__, __LINE__, "%s: what it reads has been changed before sync", p->kernel);
    for (struct pending *p; (p = pop(&s->outputs)); free(p)) {
        memcpy(p->host, p->value, p->bytes);
        free(p->value);
    }
    end_followed(s);
}

static int here(void) { return MF_OK; }

static int queue_open(struct mf_queue **queue, int device, int threads, int deterministic, struct mf_arena *arena,
                      struct mf_arena *host)
{
    struct mf_queue *q = calloc(1, sizeof *q);
    struct shadow *s = calloc(1, sizeof *s);
    int rc = q && s ? MF_OK : mf_fail(MF_MEMORY, "no memory for a queue of the shadow back end");

    if (rc == MF_OK) rc = mf_backend_cpu.queue_open(&s->inner, device, threads, deterministic, arena, host);
    if (rc != MF_OK) {
        free(s);
        free(q);
        return rc;
    }
    *q = *s->inner;
    q->backend = &mf_backend_shadow;
    q->impl = s;
    mf_shadow_watch(arena);
    *queue = q;
    return MF_OK;
}

static void queue_close(struct mf_queue *queue)
{
    if (!queue) return;
    synchronise(queue);
    while (of(queue)->copies) forget(of(queue), of(queue)->copies);
    mf_shadow_unwatch(queue->arena);
    mf_backend_cpu.queue_close(of(queue)->inner);
    free(queue->impl);
    free(queue);
}

static void put(struct mf_queue *queue, void *device, const void *host, size_t bytes)
{
    (void)queue;
    if (bytes) MF_SHADOW_RUN("put", memcpy(device, host, bytes), device);
}

static void get(struct mf_queue *queue, void *host, const void *device, size_t bytes)
{
    (void)queue;
    if (bytes) MF_SHADOW_RUN("get", memcpy(host, device, bytes), device);
}

static const struct mf_mem heap; /* all zero: malloc and free */

#define MF_FAMILY(ID, family, ...) .family = &mf_##family##_shadow,

static const struct mf_slices slices = {MF_LIST_SLICES(MF_FAMILY).drain = mf_shadow_drain, .space = &mf_space_shadow};

const struct mf_backend mf_backend_shadow = {
    .name = "shadow",
    .abi = MF_BACKEND_ABI,
    .build = MF_VERSION,
    .here = here,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .mem = &mf_shadow_mem,
    .host_mem = &heap,
    .put = put,
    .get = get,
    .put_start = put_start,
    .get_start = get_start,
    .finish = finish,
    .follow = follow,
    .done = done,
    .sync = synchronise,
    .move = &mf_move_shadow,
    .field = &mf_field_shadow,
    .optim = &mf_optim_shadow,
    .meanfield = &mf_meanfield_shadow,
    .select = &mf_select_shadow,
    .label = &mf_label_shadow,
    .slices = &slices,
    .net = &mf_net_shadow,
    .flux = &mf_flux_shadow,
};
