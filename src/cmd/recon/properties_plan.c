/* plan properties: what properties would take on a machine. Its workload has no settings. Its step is an iteration
 * along one axis. As of a run, a plan is for cores unless --device names a GPU. */
#include <stdio.h>
#include <string.h>

#include "kernels/dry.h"
#include "kernels/flux.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/plan.h"
#include "src/cmd/recon/properties.h"
#include "src/cmd/recon/properties_stiffness.h"
#include "src/cmd/unused.h"

struct plan_properties {
    struct properties properties; /* first: its rows are this verb's too */
    struct mf_plan_wish wish;
    struct mf_longs size;
};

static const struct mf_opt rows[] = {
    MF_PLAN_WISH_MACHINE(plan_properties),
    MF_OPT(plan_properties, "size", size, MF_LONGS, NULL, "extents y x, or z y x, where no FILE says them [voxels]"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_properties_rows, mf_common_opts, NULL};

/** A problem of properties. */
struct job {
    struct mf_micro micro; /* its extents, spacing and phases */
    struct mf_conducted of;
    struct mf_conduct_opts opts;
};

static const struct job *job_of(const void *context) { return context; }

static int is_stiffness(const struct job *job) { return job->of.stiffness.asked; }

/* ---- the workload ---- */

static const char *smaller(const void *context)
{
    (void)context;
    return "a smaller volume";
}

static void describe(const void *context, struct mf_plan_lines *p)
{
    const struct job *job = job_of(context);
    const size_t *n = job->micro.slab.dims;
    const double *h = job->micro.spacing;

    mf_plan_say(p, "verb", "properties");
    mf_plan_say(p, "shape", "%zu x %zu x %zu (z y x)", n[0], n[1], n[2]);
    mf_plan_say(p, "spacing", "%g x %g x %g", h[0], h[1], h[2]);
    if (is_stiffness(job)) {
        mf_plan_say(p, "stiffness", "six load cases, periodic, %s",
                    job->of.stiffness.opts.scheme == MF_ELASTIC_ROTATED ? "rotated" : "staggered");
        mf_plan_say(p, "tolerance", "%g", job->of.stiffness.opts.tolerance);
        return;
    }
    for (int k = 0; k < job->of.phases; ++k)
        mf_plan_say(p, "phase", "%ld: conductivity %g", job->micro.label[k], job->of.k[k]);
    mf_plan_say(p, "boundary", "%s%s", job->of.boundary, job->opts.sides_periodic ? ", sides periodic" : "");
    mf_plan_say(p, "tolerance", "%g", job->opts.tolerance);
    for (int a = 0; a < 3; ++a)
        if (job->of.wanted[a]) mf_plan_say(p, "axis", "%c", "zyx"[a]);
}

/* Small volumes and images are solved by all ranks alike. Others are cut at pairs of planes. */
static size_t most_ranks(const void *context)
{
    const size_t *n = job_of(context)->micro.slab.dims;

    if (is_stiffness(job_of(context))) return (n[0] + 1) / 2; /* slabs begin at even planes */
    return n[0] * n[1] * n[2] <= MF_CONDUCT_ALIKE || n[0] < 4 ? 1 : n[0] / 2;
}

static int settings(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                    struct mf_plan_numbers *s)
{
    (void)context, (void)place, (void)level, (void)s;
    return trial < 2;
}

/* Planes are cut at multiples that the problem decides, so every rank is measured. */
static uint64_t share(const void *context, const struct mf_plan_numbers *s, size_t ranks, size_t rank)
{
    (void)context, (void)s, (void)ranks;
    return rank;
}

static int measure(const struct job *job, const struct mf_plan_rank *r, struct mf_arena *arena, struct mf_arena *host)
{
    const struct mf_dry_kind kind = {r->simd, r->apart, r->capability};
    struct mf_micro micro = job->micro;
    struct mf_backend_dry dry;
    struct mf_queue *queue;
    struct mf_comm comm;
    int rc = MF_OK;

    mf_comm_dry(&comm, (int)r->rank, (int)r->ranks, (int)r->local_size);
    micro.slab = mf_slab_of(&comm, job->micro.slab.dims, comm.rank);
    mf_backend_dry(&kind, &dry);
    MF_TRY(mf_queue_dry(&queue, &dry, (int)r->threads, 0, arena, host));
    micro.phase = mf_arena_take(host, mf_slab_voxels(&micro.slab), "phase");
    if (is_stiffness(job)) rc = mf_elastic_measure(&comm, queue, host, &micro, &job->of.stiffness.opts);
    for (int a = 0; rc == MF_OK && a < 3; ++a)
        if (job->of.wanted[a]) rc = mf_conduct_measure(&comm, queue, host, &micro, a, &job->opts);
    mf_arena_give(host, micro.phase);
    dry.backend.queue_close(queue);
    return rc;
}

static int bytes_of(const void *context, const struct mf_plan_rank *r, const struct mf_plan_numbers *s,
                    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    struct mf_arena *arena, *host;
    int rc;

    (void)s;
    memset(bytes, 0, MF_PLAN_MEMORIES * sizeof *bytes);
    MF_TRY(mf_arena_open(&arena, &mf_mem_dry, 0));
    host = arena;
    rc = r->apart ? mf_arena_open(&host, &mf_mem_dry, 0) : MF_OK;
    mf_fault_hold(1);
    if (rc == MF_OK) rc = measure(job_of(context), r, arena, host);
    mf_fault_hold(0);
    if (host != arena) {
        mf_plan_bytes_of(host, &bytes[MF_PLAN_HOST]);
        mf_arena_close(host);
    }
    mf_plan_bytes_of(arena, &bytes[MF_PLAN_STATE]);
    mf_arena_close(arena);
    return rc;
}

static double voxels_of(const struct job *job, const struct mf_placement *place)
{
    const size_t *n = job->micro.slab.dims, ranks = place->ranks < most_ranks(job) ? place->ranks : most_ranks(job);

    return (double)n[0] * (double)n[1] * (double)n[2] / (double)ranks;
}

static const double TRAFFIC_STIFFNESS = 1000; /* as below, by runs on one core */

/* Bytes of a voxel in an iteration: on cores, on a GPU what its kernels read and write (docs/GPU-STATUS.md). */
static const double TRAFFIC[2][2] = {{MF_CONDUCT_TRAFFIC_FACES, MF_CONDUCT_TRAFFIC_COUNTS}, {218, 149}};

/* Launches of an iteration on a GPU. The first level has 11, and each visit of a level below it 11 (src/prop/cycle.c).
 * Each level is visited twice as often as that above. From the first small level on a launch does all. */
static double launches(const size_t dims[3])
{
    double sum = 11, visits = 1, cells = (double)dims[0] * (double)dims[1] * (double)dims[2] / 8;

    for (; cells > MF_FLUX_SMALL; cells /= 8, visits *= 2) sum += 11 * visits;
    return sum + visits;
}

static int is_binary(const struct job *job)
{
    int is = job->micro.spacing[1] == job->micro.spacing[2];

    if (job->micro.ndim == 3) is &= job->micro.spacing[0] == job->micro.spacing[1];
    for (int p = 0; p < job->of.phases; ++p) is &= job->opts.k[p] == 0 || job->opts.k[p] == 1;
    return is;
}

static double traffic_of(const struct job *job, const struct mf_rates *rates)
{
    return is_stiffness(job) ? TRAFFIC_STIFFNESS : TRAFFIC[rates->capability > 0][is_binary(job)];
}

static void price(const void *context, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                  const struct mf_plan_numbers *s, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost)
{
    const struct job *job = job_of(context);

    (void)rank, (void)s, (void)fact;
    mf_plan_pay(cost, "memory", voxels_of(job, place) * traffic_of(job, rates) / rates->memory);
    if (rates->capability > 0) mf_plan_pay(cost, "launches", MF_SECONDS_LAUNCH * launches(job->micro.slab.dims));
    cost->tried = cost->total;
}

static void finish(const void *context, const struct mf_placement *place, const double fact[MF_PLAN_FACTS],
                   struct mf_plan *p)
{
    const size_t most = most_ranks(context);

    (void)fact;
    p->exchange = most > 1 ? mf_plan_exchange(place, 0) : "none";
    if (most == 1 && p->ranks > 1 && !is_stiffness(job_of(context)))
        mf_plan_note(p, "all ranks solve alike: the structure is small, or an image");
}

static void show(const struct mf_plan *p, struct mf_plan_lines *lines)
{
    if (strcmp(p->exchange, "none") == 0)
        mf_plan_say(lines, "layout", "a rank has all planes");
    else
        mf_plan_say(lines, "layout", "slabs along z; exchange of planes by %s", p->exchange);
}

static const struct mf_plan_workload workload = {.step = "iteration",
                                                 .smaller = smaller,
                                                 .describe = describe,
                                                 .most_ranks = most_ranks,
                                                 .settings = settings,
                                                 .share = share,
                                                 .bytes = bytes_of,
                                                 .price = price,
                                                 .finish = finish,
                                                 .show = show};

/* ---- the verb ---- */

static int check(const struct mf_session *session, void *options)
{
    const struct plan_properties *o = options;
    const size_t files = mf_arguments(session, NULL);

    MF_TRY(mf_plan_wish_check(session, &o->wish));
    MF_TRY(mf_properties_check(session, &o->properties));
    if ((files > 0) == (o->size.count > 0))
        return mf_fail(MF_USAGE, "plan properties takes one FILE, or --size; try: --size 256 256 256");
    if (o->size.count == 1 || o->size.count > 3)
        return mf_fail(MF_USAGE, "--size must be y x, or z y x, not %zu numbers", o->size.count);
    for (size_t i = 0; i < o->size.count; ++i)
        if (o->size.at[i] < 1) return mf_fail(MF_USAGE, "an extent must be 1 voxel or more, not %ld", o->size.at[i]);
    return MF_OK;
}

/* A structure of these extents that has all labels. */
static int from_size(const struct mf_session *s, const struct plan_properties *o, struct job *job)
{
    const struct properties *p = &o->properties;
    struct mf_micro *m = &job->micro;
    size_t dims[3] = {1, 1, 1};

    MF_UNUSED(s, "no file is read", "labels", "threshold", "dataset", "crop", "crop-bar", "unit");
    *m = (struct mf_micro){.ndim = (int)o->size.count, .phases = (int)p->conductivity.count};
    if (mf_stiffness_asked(p)) m->phases = (int)mf_stiffness_phases(p);
    for (size_t i = 0; i < p->conducting.count; ++i)
        if (p->conducting.at[i] >= 0 && p->conducting.at[i] < MF_PHASES_MAX && p->conducting.at[i] >= m->phases)
            m->phases = (int)p->conducting.at[i] + 1;
    for (size_t i = 0; i < o->size.count; ++i) dims[3 - o->size.count + i] = (size_t)o->size.at[i];
    MF_TRY(mf_spacing_fits(&p->spacing, m->ndim));
    mf_spacing_spread(&p->spacing, m->spacing);
    m->slab = mf_slab_of(s->comm, dims, s->comm->rank);
    for (int k = 0; k < m->phases; ++k) {
        m->label[k] = k;
        job->of.fraction[k] = 1.0 / m->phases;
    }
    return MF_OK;
}

static int from_file(const struct mf_session *s, const struct properties *o, const char *file, struct job *job)
{
    MF_TRY(mf_properties_read(s, o, file, &job->micro));
    mf_properties_fractions(s->comm, &job->micro, job->of.fraction);
    mf_micro_free(&job->micro); /* extents, spacing and labels stay */
    return MF_OK;
}

static int run(struct mf_session *s, void *options)
{
    struct plan_properties *o = options;
    struct job job = {.micro = {.ndim = 0}};
    const char *const *input;
    const char *file = mf_arguments(s, &input) ? *input : NULL;

    const int stiffness = mf_stiffness_asked(&o->properties),
              asked = strncmp(o->properties.common.device, "cuda", 4) == 0;

    if (asked && stiffness) mf_warn("GPUs have no kernels for stiffness, so the plan is for the cores");
    if (!asked || stiffness) o->properties.common.device = "cpu";
    MF_TRY(mf_plan_may_write(s, &o->wish, file));
    job.of.file = file ? file : "--size";
    job.of.boundary = o->properties.boundary;
    MF_TRY(file ? from_file(s, &o->properties, file, &job) : mf_agree(s->comm, from_size(s, o, &job)));
    MF_TRY(mf_agree(s->comm, mf_properties_problem(&o->properties, &job.micro, &job.of, &job.opts)));
    return mf_plan_verb(&(struct mf_planning){
        .session = s, .common = &o->properties.common, .wish = &o->wish, .workload = &workload, .work = &job});
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Plans a run of properties with these options: the ranks, the bytes of every\n"
    "array on every rank, which are exact, and the seconds of an iteration by a\n"
    "model (docs/PLANNER.md). FILE is read for its extents and its labels; --size\n"
    "stands for a structure that has all of them. If nothing fits, the exit\n"
    "status is 5.\n"
    "\n"
    "Examples:\n"
    "  mesoforge plan properties scan.tif --threshold otsu --conducting 1\n"
    "  mesoforge plan properties --size 1024 1024 1024 --conductivity 0 1 \\\n"
    "      --hardware examples/hardware/h100x8.json --explain\n";
/* clang-format on */

const struct mf_cmd mf_cmd_plan_properties = {
    .name = "plan properties",
    .summary = "predict a run of properties: ranks, memory, time, and the reasons",
    .synopsis = "FILE|--size NZ NY NX --conductivity K0 K1 ...|--young E0 E1 ... --poisson NU0 NU1 ... [--hardware "
                "FILE] [--ranks N] [--option VALUE ...]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct plan_properties),
    .positional_max = 1,
    .check = check,
    .run = run,
    .work = MF_WORK_NONE,
    .in_library = 1,
};
