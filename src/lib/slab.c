/* See lib.h and include/mesoforge.h: slabs of volumes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/slab.h"
#include "src/base/err.h"
#include "src/lib/lib.h"

/* One rank lends some planes, and reads others. */
struct side {
    struct mf_span lends, reads;
};

static struct mf_span overlap(struct mf_span a, struct mf_span b)
{
    const size_t first = a.first > b.first ? a.first : b.first, end_a = a.first + a.count, end_b = b.first + b.count,
                 end = end_a < end_b ? end_a : end_b;

    return (struct mf_span){first, end > first ? end - first : 0};
}

/* An image in disguise, of which axes of length 1 are dropped, is read as a whole by every rank. */
static int is_flat(const struct mf_lent *l) { return l->shape[0] == 1 || l->shape[1] == 1 || l->shape[2] == 1; }

static struct mf_span reads(const struct mf_comm *comm, const struct mf_lent *l, int rank)
{
    const size_t dims[] = {l->shape[0], l->shape[1], l->shape[2]};
    const struct mf_slab slab = mf_slab_of(comm, dims, rank);

    return is_flat(l) ? (struct mf_span){0, l->shape[0]} : (struct mf_span){slab.first, slab.count};
}

/* Which planes all ranks have; the caller frees. Collective. */
static struct side *meet(const struct mf_comm *comm, const struct mf_lent *l)
{
    const int64_t mine[] = {(int64_t)l->planes.first, (int64_t)l->planes.count};
    struct side *side = MF_MUST(calloc((size_t)comm->size, sizeof *side), "slabs");
    int64_t *all = MF_MUST(calloc(2 * (size_t)comm->size, sizeof *all), "slabs");

    mf_comm_gather_int(comm, 2, mine, all);
    for (int r = 0; r < comm->size; ++r) {
        side[r].lends = (struct mf_span){(size_t)all[2 * r], (size_t)all[2 * r + 1]};
        side[r].reads = reads(comm, l, r);
    }
    free(all);
    return side;
}

/* Does every plane have one rank? The same answer on all ranks. */
static int check(const struct mf_comm *comm, const struct mf_lent *l, const struct side *side)
{
    size_t sum = 0, at = 0;

    for (int r = 0; r < comm->size; ++r) sum += side[r].lends.count;
    for (int r = 0; r < comm->size && at < l->shape[0]; ++r)
        if (side[r].lends.first == at && side[r].lends.count) {
            at += side[r].lends.count;
            r = -1;
        }
    if (at == l->shape[0] && sum == at) return MF_OK;
    if (at == l->shape[0])
        return mf_fail(MF_USAGE, "the slabs of '%s' have %zu planes, and the volume has %zu", l->name, sum, at);
    return mf_fail(MF_USAGE, "no slab of '%s' begins with plane %zu of %zu", l->name, at, l->shape[0]);
}

/* Does every rank lend what it reads, and in memory as it is read? */
static int is_there(const struct mf_comm *comm, const struct side *side)
{
    for (int r = 0; r < comm->size; ++r)
        if (overlap(side[r].lends, side[r].reads).count != side[r].reads.count) return 0;
    return 1;
}

struct move {
    const struct mf_comm *comm;
    const struct mf_lent *from;
    const struct side *side;
    size_t plane; /* elements */
    size_t *sent, *got;
    char *out, *in, *to;
};

static size_t bytes(const struct move *m, size_t planes) { return planes * m->plane * m->from->size; }

/* Planes for other ranks, one rank after the other. */
static void pack(struct move *m)
{
    const struct mf_span lends = m->side[m->comm->rank].lends;
    char *at = m->out;

    for (int r = 0; r < m->comm->size; at += m->sent[r++]) {
        const struct mf_span part = overlap(lends, m->side[r].reads);

        if (m->sent[r]) mf_lent_copy(m->from, (part.first - lends.first) * m->plane, part.count * m->plane, at);
    }
}

static void unpack(struct move *m)
{
    const struct side *mine = &m->side[m->comm->rank];
    const struct mf_span kept = overlap(mine->lends, mine->reads);
    const char *at = m->in;

    if (kept.count)
        mf_lent_copy(m->from, (kept.first - mine->lends.first) * m->plane, kept.count * m->plane,
                     m->to + bytes(m, kept.first - mine->reads.first));
    for (int r = 0; r < m->comm->size; at += m->got[r++])
        if (m->got[r])
            memcpy(m->to + bytes(m, overlap(m->side[r].lends, mine->reads).first - mine->reads.first), at, m->got[r]);
}

/* Counts what is moved; a rank sends nothing to itself. */
static void count(struct move *m, size_t *out, size_t *in)
{
    const struct side *mine = &m->side[m->comm->rank];

    for (int r = 0; r < m->comm->size; ++r) {
        if (r == m->comm->rank) continue;
        *out += m->sent[r] = bytes(m, overlap(mine->lends, m->side[r].reads).count);
        *in += m->got[r] = bytes(m, overlap(m->side[r].lends, mine->reads).count);
    }
}

/* Memory for what is read stays until mf_lib_slab_end(). Collective. */
static int exchange(struct mf_arena *arena, struct move *m)
{
    size_t out = 0, in = 0;
    int rc;

    count(m, &out, &in);
    m->to = mf_arena_take(arena, bytes(m, m->side[m->comm->rank].reads.count), "slab");
    m->out = m->to ? mf_arena_take(arena, out, "slab sent") : NULL;
    m->in = m->out ? mf_arena_take(arena, in, "slab received") : NULL;
    rc = mf_agree(m->comm, m->in ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) {
        pack(m);
        mf_comm_alltoallv(m->comm, m->out, m->sent, m->in, m->got);
        unpack(m);
    }
    mf_arena_give(arena, m->in);
    mf_arena_give(arena, m->out);
    if (rc != MF_OK) mf_arena_give(arena, m->to);
    return rc;
}

/* The array that the call reads: C order, of the planes that this rank reads. */
static void use(mesoforge_field *field, struct mf_span planes, char *values)
{
    struct mf_lent *l = &field->lent;
    ptrdiff_t step = (ptrdiff_t)l->size;

    field->moved = values;
    l->values = values;
    l->swap = 0;
    l->planes = planes;
    for (int i = l->ndim - 1; i >= 0; step *= (ptrdiff_t)l->shape[i--]) l->stride[i] = step;
}

static int move(mesoforge_session *session, mesoforge_field *field, const struct side *side)
{
    const struct mf_comm *comm = &session->comm;
    struct move m = {.comm = comm, .from = &field->lent, .side = side, .plane = 1};
    int rc;

    for (int i = 1; i < field->lent.ndim; ++i) m.plane *= field->lent.shape[i];
    m.sent = MF_MUST(calloc(2 * (size_t)comm->size, sizeof *m.sent), "slabs");
    m.got = m.sent + comm->size;
    rc = exchange(session->work.session.arena, &m);
    if (rc == MF_OK) use(field, side[comm->rank].reads, m.to);
    free(m.sent);
    return rc;
}

int mf_lib_slab_begin(mesoforge_session *session, mesoforge_field *field)
{
    struct side *side;
    int rc;

    if (!field->lent.is_slab) return MF_OK;
    side = meet(&session->comm, &field->lent);
    rc = check(&session->comm, &field->lent, side);
    if (rc == MF_OK && !is_there(&session->comm, side)) rc = move(session, field, side);
    if (rc == MF_OK && is_flat(&field->lent)) field->lent.is_slab = 0;
    free(side);
    return rc;
}

void mf_lib_slab_end(mesoforge_session *session, mesoforge_field *field)
{
    if (!field->own.is_slab) return;
    mf_arena_give(session->work.session.arena, field->moved);
    field->moved = NULL;
    field->own.next = field->lent.next;
    field->lent = field->own;
}

int mesoforge_slab(mesoforge_session *session, size_t planes, size_t *first, size_t *count)
{
    int rc = mf_lib_enter(session);
    struct mf_slab slab;

    if (rc != MF_OK) return mf_lib_told(rc);
    if (!first || !count) return mf_lib_leave(session, mf_fail(MF_USAGE, "there is no place for the planes"));
    if (planes < 1 || planes > PTRDIFF_MAX)
        return mf_lib_leave(session, mf_fail(MF_USAGE, "a volume of %zu planes has no slabs", planes));
    slab = mf_slab_of(&session->comm, (size_t[]){planes, 2, 2}, session->comm.rank);
    *first = slab.first;
    *count = slab.count;
    return mf_lib_leave(session, MF_OK);
}

int mesoforge_slabs(mesoforge_session *session, int wanted)
{
    int rc = mf_lib_enter(session);

    if (rc != MF_OK) return mf_lib_told(rc);
    session->slabs = wanted != 0;
    return mf_lib_leave(session, MF_OK);
}
