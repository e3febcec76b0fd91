/* Calls of operations of networks, one by one. A plan for a GPU that is not here counts the work memory that one takes.
 * A test says which operations it has no case for. */
#ifndef MF_TESTS_NET_CALL_H
#define MF_TESTS_NET_CALL_H

#include "kernels/dry.h"
#include "kernels/net/ops.h"
#include "kernels/tuning.h"
#include "tests/device.h"

static unsigned char called[MF_OP_COUNT];

/* Checks the count of a plan without the GPU (kernels/net/gpu_dry.c). A library may take less. */
static inline void check_dry_work(const struct mf_call *call, enum mf_op_id op, int back, size_t work)
{
    struct mf_op_table table;
    struct mf_call dry = *call;
    size_t counted = 0;

    mf_dry_gpu_net(&table);
    if (table.calls[op]->plan) CHECK(table.calls[op]->plan(NULL, &dry, back, &dry.plan, &counted) == MF_OK);
    CHECK_SAYS(work <= counted && counted <= work + MF_TUNING_WORK,
               "%s, backward %d: %zu bytes of work memory, of which plans without the GPU count %zu", mf_ops[op]->name,
               back, work, counted);
}

/* Plans the call, does it, and gives its work memory back. */
static inline void carry_out(const struct device *d, enum mf_op_id op, struct mf_call *call, int back)
{
    const struct mf_op_calls *calls = d->be->net->calls[op];
    size_t work = 0;

    called[op] = 1;
    if (calls->plan) CHECK(calls->plan(d->q, call, back, &call->plan, &work) == MF_OK);
    if (strcmp(d->be->name, "cuda") == 0) check_dry_work(call, op, back, work);
    call->work = device_put(d, NULL, work);
    (back ? calls->backward : calls->forward)(d->q, call);
    device_get(d, NULL, call->work, 0);
    if (call->plan) calls->release(call->plan);
    call->plan = NULL;
}

/* Has every operation of the list been called that the back end has? */
static inline void check_called(const struct device *d, size_t n, const enum mf_op_id *list)
{
    for (size_t k = 0; k < n; ++k)
        CHECK_SAYS(called[list[k]] || !d->be->net->calls[list[k]], "no case calls %s", mf_ops[list[k]]->name);
}

#endif
