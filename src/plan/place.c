/* See rates.h: nodes, and the room that a rank finds on one. */
#include "src/base/err.h"
#include "src/plan/rates.h"

static const int64_t MIB = 1 << 20;

/* Beside its arrays a rank holds the program, MPI, HDF5 and, on a GPU, the driver's context: docs/PLANNER.md. */
enum {
    HOST_CONTEXT_MIB = 96,
    DRIVER_MIB = 768,
    GPU_CONTEXT_MIB = 640,
    HOST_RESERVE_MIB = 512,
    GPU_RESERVE_MIB = 256,
    RESERVE_PART = 50,
    SMALL_PART = 8 /* of a memory that is small: a container of some hundred MiB */
};

size_t mf_plan_nodes(const struct mf_hardware *hardware)
{
    size_t n = 0;

    for (size_t h = 0; h < hardware->hosts; ++h) n += hardware->host[h].count > 0 ? (size_t)hardware->host[h].count : 1;
    return n;
}

const struct mf_host *mf_plan_node(const struct mf_hardware *hardware, size_t i)
{
    for (size_t h = 0; h < hardware->hosts; ++h) {
        size_t count = hardware->host[h].count > 0 ? (size_t)hardware->host[h].count : 1;

        if (i < count) return &hardware->host[h];
        i -= count;
    }
    return NULL;
}

static size_t greater(int64_t a, int64_t b) { return (size_t)(a > b ? a : b); }

/* Bytes to leave unused of a node's memory, or of that of the job's control group. */
static size_t left_alone(int64_t bytes)
{
    const size_t most = (size_t)(bytes / SMALL_PART), wanted = greater(bytes / RESERVE_PART, HOST_RESERVE_MIB * MIB);

    return wanted < most ? wanted : most;
}

static size_t less(size_t from, size_t by) { return from > by ? from - by : 0; }

size_t mf_plan_sharers(const struct mf_placement *place, size_t rank, int gpu)
{
    size_t n = 0;

    for (size_t r = 0; r < place->ranks; ++r)
        n += place->node[r] == place->node[rank] && (!gpu || place->gpu[r] == place->gpu[rank]);
    return n;
}

/* Bytes that the ranks of a node already hold. They are not free, but the predicted bytes contain them again. */
static size_t held(const struct mf_placement *place, size_t rank)
{
    size_t bytes = 0;

    for (size_t r = 0; place->in_use && r < place->ranks; ++r)
        if (place->node[r] == place->node[rank]) bytes += place->in_use[r];
    return bytes;
}

void mf_plan_room(const struct mf_hardware *hardware, const struct mf_placement *place, size_t rank, int on_gpu,
                  size_t limit, size_t *context, size_t *reserve, size_t *room)
{
    const struct mf_host *host = mf_plan_node(hardware, (size_t)place->node[rank]);
    size_t there, of = mf_plan_sharers(place, rank, on_gpu);

    MF_ASSERT(of > 0); /* itself */
    if (on_gpu) {
        const struct mf_gpu *gpu = &host->gpu[place->gpu[rank]];

        there = (size_t)gpu->memory_free_bytes;
        *context = (size_t)(GPU_CONTEXT_MIB * MIB);
        *reserve = greater(gpu->memory_bytes / RESERVE_PART, GPU_RESERVE_MIB * MIB) / of;
    } else {
        there = (size_t)host->ram_available_bytes + held(place, rank);
        *context = (size_t)((place->device ? DRIVER_MIB : HOST_CONTEXT_MIB) * MIB);
        *reserve = left_alone(host->ram_bytes) / of;
    }
    *room = less(there / of, *reserve + *context);
    if (limit > 0 && limit < *room) *room = limit;
}
