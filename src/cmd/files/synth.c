/* synth: makes a microstructure with known statistics, and writes it with its parameters and properties. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/files/synth_opts.h"
#include "src/cmd/files/synth_set.h"
#include "src/session/peaks.h"

static const struct mf_opt *const tables[] = {mf_synth_opts, mf_common_opts, NULL};

/* Input and result of a run. */
struct synth_run {
    struct mf_session *session;
    const struct synth_opts *opts;
    struct mf_synth wish;
    struct mf_micro micro;
    struct mf_synth_facts facts;
    char *path;
};

static void put_shape(const struct mf_synth *wish, struct mf_json *at)
{
    struct mf_json *shape = mf_json_array();

    for (int a = 3 - wish->ndim; a < 3; ++a) mf_json_int(shape, NULL, (long long)wish->dims[a]);
    mf_json_put(at, "shape", shape);
}

static void put_phases(const struct synth_run *run, struct mf_json *at)
{
    struct mf_json *phases = mf_json_array();

    for (int p = 0; p < run->wish.phases; ++p) {
        struct mf_json *phase = mf_json_object();

        MF_JSON(phase, "label", p, "volume_fraction", run->facts.fraction[p], "voxels", run->facts.voxels[p]);
        mf_json_put(phases, NULL, phase);
    }
    mf_json_put(at, "phases", phases);
}

/* The truth about the microstructure: nothing that depends on the machine or the number of ranks. */
static struct mf_json *truth(const struct synth_run *run)
{
    struct mf_json *json = mf_json_object(), *parameters = mf_json_object();

    mf_json_some(json, "file", run->path);
    MF_JSON(json, "kind", run->opts->kind);
    put_shape(&run->wish, json);
    put_phases(run, json);
    mf_synth_wish_json(&run->wish, parameters);
    MF_JSON(json, "parameters", parameters, "seed", run->opts->common.seed);
    if (run->facts.object) mf_json_int(json, "objects", (long long)run->facts.objects);
    if (run->wish.kind == MF_SYNTH_LAMELLAE) mf_json_real(json, "period", run->facts.period);
    return json;
}

static int write_micro(struct synth_run *run)
{
    struct mf_json *json = truth(run);
    char *text = mf_json_string(json), *options = mf_options_yaml(mf_options_of(run->session));
    struct mf_provenance from = {.command = "synth", .options = options, .input_hash = "", .json = text};
    int rc;

    from.seed = run->opts->common.seed;
    rc = mf_micro_write(run->session->comm, run->path, &run->micro, &from);
    mf_json_free(json);
    free(text);
    free(options);
    return rc;
}

/* One line per object. Local. */
static int print_list(const struct synth_run *run, const char *temporary, const char *path)
{
    FILE *to = fopen(temporary, "w");
    int rc;

    if (!to) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    rc = fprintf(to, "z,y,x,radius,length,direction_z,direction_y,direction_x,phase\n");
    for (size_t i = 0; rc >= 0 && i < run->facts.objects; ++i) {
        const struct mf_synth_object *o = &run->facts.object[i];

        rc = fprintf(to, "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%d\n", o->centre[0], o->centre[1],
                     o->centre[2], o->radius, 2 * o->half, o->direction[0], o->direction[1], o->direction[2], o->phase);
    }
    if (fclose(to) != 0 || rc < 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    return MF_OK;
}

/* Collective: rank 0 writes. */
static int write_list(const struct synth_run *run)
{
    const struct mf_comm *comm = run->session->comm;
    struct mf_atomic file;

    if (!run->opts->list) return MF_OK;
    MF_TRY(mf_atomic_open(comm, run->opts->list, 0, &file));
    return mf_atomic_close(comm, &file, comm->rank == 0 ? print_list(run, file.temporary, file.path) : MF_OK);
}

/* Objects and grains come whole; a hundredth is near. A checkerboard is asked for no fractions. */
static void print_asked(const struct synth_run *run)
{
    const struct mf_synth *w = &run->wish;
    double off = 0;

    if (w->exact || w->kind == MF_SYNTH_CHECKERBOARD) return;
    for (int p = 0; p < w->phases; ++p) off = fmax(off, fabs(run->facts.fraction[p] - w->fraction[p]));
    if (off < 0.01) return;
    printf("  asked for:");
    for (int first = w->phases == 2, p = first; p < w->phases; ++p)
        printf("%s %g of phase %d", p > first ? "," : "", w->fraction[p], p);
    printf("; --exact reaches that\n");
}

static void print_text(const struct synth_run *run)
{
    const struct mf_synth *w = &run->wish;

    printf("%s: %s, ", run->path, run->opts->kind);
    for (int a = 3 - w->ndim; a < 3; ++a) printf("%s%zu", a > 3 - w->ndim ? " x " : "", w->dims[a]);
    printf(" voxels, seed %ld\n", run->opts->common.seed);
    for (int p = 0; p < w->phases; ++p)
        printf("  phase %d: volume fraction %.6f (%lld voxel%s)\n", p, run->facts.fraction[p],
               (long long)run->facts.voxels[p], MF_S(run->facts.voxels[p]));
    print_asked(run);
    if (run->facts.object)
        printf("  %zu %s%s\n", run->facts.objects, w->kind == MF_SYNTH_VORONOI ? "grain" : "object",
               MF_S(run->facts.objects));
    if (w->kind == MF_SYNTH_LAMELLAE) printf("  period %.6g voxels\n", run->facts.period);
}

static int report(const struct synth_run *run)
{
    const struct mf_session *session = run->session;
    struct mf_peaks peaks;
    struct mf_json *json;
    int rc = MF_OK;

    MF_TRY(mf_peaks_of(session, &peaks));
    if (session->comm->rank == 0 && !run->opts->common.json) print_text(run);
    if (session->comm->rank == 0 && run->opts->common.json) {
        json = truth(run);
        mf_json_real(json, "seconds", mf_now() - session->start);
        mf_peaks_json(&peaks, json);
        MF_JSON(json, "ranks", session->comm->size, "threads", session->threads);
        rc = mf_json_write(json, stdout);
        mf_json_free(json);
    }
    mf_peaks_free(&peaks);
    return mf_agree(session->comm, rc);
}

static void warn(const struct synth_run *run)
{
    for (int p = 0; p < run->wish.phases; ++p)
        if (run->facts.voxels[p] == 0) mf_warn("phase %d has no voxel", p);
    if (run->wish.kind == MF_SYNTH_LAMELLAE && fabs(run->facts.period / run->wish.period - 1) > 1e-9)
        mf_info("lamellae: a period of %g voxels became %g to repeat in this box", run->wish.period, run->facts.period);
    if (run->wish.kind != MF_SYNTH_CHECKERBOARD) return;
    for (int a = 3 - run->wish.ndim; a < 3; ++a) {
        double cell = (double)run->wish.dims[a] / (double)run->facts.cells[a];

        if (fabs(cell - run->wish.cell[a]) > 1e-9)
            mf_info("checkerboard: a cell along %c became %g voxels to repeat in this box", "zyx"[a], cell);
    }
}

static int dry_json(const struct synth_run *run, double bytes)
{
    struct mf_json *json = mf_json_object(), *shape = mf_json_array(), *sizes = mf_json_object();
    int rc;

    mf_json_bool(json, "dry_run", 1);
    MF_JSON(json, "file", run->path, "kind", run->opts->kind);
    for (int a = 3 - run->wish.ndim; a < 3; ++a) mf_json_int(shape, NULL, (long long)run->wish.dims[a]);
    mf_json_put(json, "shape", shape);
    mf_json_real(sizes, "all_ranks", bytes);
    MF_JSON(json, "bytes", sizes, "ranks", run->session->comm->size);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

static int dry_run(const struct synth_run *run)
{
    const struct mf_synth *w = &run->wish;
    double voxels = (double)w->dims[0] * (double)w->dims[1] * (double)w->dims[2];
    int values =
        w->exact || w->kind == MF_SYNTH_GAUSSIAN ||
        (w->phases > 2 && ((w->kind >= MF_SYNTH_SPHERES && w->kind <= MF_SYNTH_FIBRES) || w->kind == MF_SYNTH_CRACKS));

    if (mf_common_of(run->session)->json)
        return mf_agree(run->session->comm,
                        run->session->comm->rank == 0 ? dry_json(run, voxels * (values ? 9 : 1)) : MF_OK);
    if (run->session->comm->rank == 0)
        printf("%s: %s, %zu x %zu x %zu voxels, about %.0f MiB over %d rank%s\n", run->path, run->opts->kind,
               w->dims[0], w->dims[1], w->dims[2], voxels * (values ? 9 : 1) / 0x1p20, run->session->comm->size,
               MF_S(run->session->comm->size));
    return MF_OK;
}

static int build(struct synth_run *run, const double spacing[3])
{
    MF_TRY(mf_session_may_write(run->session, run->opts->list, ".csv"));
    MF_TRY(mf_synth_make(run->session->comm, run->session->arena, run->session->threads, &run->wish, &run->micro,
                         &run->facts));
    memcpy(run->micro.spacing, spacing, sizeof run->micro.spacing);
    if (run->opts->unit) snprintf(run->micro.unit, sizeof run->micro.unit, "%s", run->opts->unit);
    warn(run);
    return write_list(run);
}

/* For somebody who takes it. */
static int hand_over(struct synth_run *run)
{
    struct mf_json *json = truth(run);
    const int rc = mf_session_give(run->session, &run->micro, json);
    mf_json_free(json);
    return rc;
}

static int make(struct synth_run *run, const double spacing[3])
{
    if (run->path) MF_TRY(mf_session_spares(run->session, run->path, 0, NULL));
    if (run->path) MF_TRY(mf_micro_may_write(run->session->comm, run->path, run->wish.ndim, 0));
    MF_TRY(build(run, spacing));
    if (run->path) MF_TRY(write_micro(run));
    return run->session->taker ? hand_over(run) : report(run);
}

static int check(const struct mf_session *session, void *options)
{
    const struct synth_opts *opts = options;
    struct mf_synth_mix mix;
    struct mf_synth wish;
    double spacing[3];

    if (opts->samples || mf_given(session, "num-samples")) return mf_synth_set_wish(opts, mf_options_of(session), &mix);
    return mf_synth_wish(options, mf_options_of(session), &wish, spacing);
}

static int run_synth(struct mf_session *session, void *options)
{
    const struct synth_opts *opts = options;
    struct synth_run run = {.session = session, .opts = opts};
    double spacing[3];
    char base[64];
    int rc;

    if (opts->samples) return mf_synth_set_run(session, opts);
    MF_TRY(mf_agree(session->comm, mf_synth_wish(opts, mf_options_of(session), &run.wish, spacing)));
    snprintf(base, sizeof base, "synth_%s", opts->kind);
    if (!session->taker || opts->common.output) MF_TRY(mf_session_path(session, base, ".h5", &run.path));
    rc = opts->common.dry_run ? dry_run(&run) : make(&run, spacing);
    mf_micro_free(&run.micro);
    mf_synth_facts_free(&run.facts);
    free(run.path);
    return rc;
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Makes a periodic two- or three-dimensional microstructure whose statistics are\n"
    "known. The same options and seed give the same bytes on any number of ranks\n"
    "and threads. Lengths are in voxels, axes are [z][y][x].\n"
    "\n"
    "  gaussian: a Gaussian random field with covariance exp(-r^2 / (2 l^2)), l the\n"
    "    --correlation-length (times --stretch along each axis), cut into phases at\n"
    "    the levels of the volume fractions. Two equal phases have S2(r) = 1/4 +\n"
    "    asin(exp(-r^2 / (2 l^2))) / (2 pi).\n"
    "  spheres: discs or spheres of one radius thrown at random; they overlap.\n"
    "    Their number n is the one for which 1 - (1 - v/V)^n is nearest to the\n"
    "    fraction.\n"
    "  hard-spheres: the same without overlap, by random sequential addition: up to\n"
    "    a fraction of 0.547 (discs) or 0.384 (spheres).\n"
    "  fibres: cylinders through the volume along --orientation x, y or z (apart\n"
    "    from each other, or with --overlap), or capsules of --fibre-length in\n"
    "    planes normal to z (planar) or in any direction (random); capsules may\n"
    "    overlap.\n"
    "  voronoi: grains, the voxels nearest to one of --grains seeds; phases are\n"
    "    dealt to grains at random, in the numbers that the fractions ask for.\n"
    "  lamellae: layers in the order of the phases; direction and period are fitted\n"
    "    so that the box repeats.\n"
    "  checkerboard: cells; their size is fitted so that a multiple of --phases of\n"
    "    them stands along every axis.\n"
    "  cracks: what lies within --radius of bent lines of --crack-length, or of bent\n"
    "    sheets in a volume; they cross. --list has their straight pieces.\n"
    "\n"
    "More than two phases of spheres, fibres and cracks are shells: phase 1\n"
    "outside, the last phase inside; their fractions are always exact.\n"
    "\n"
    "With --exact volume fractions are exact to one voxel. Every voxel has a real\n"
    "value (the field; the depth below the nearest surface; the place in the\n"
    "period; the difference of the distances to grains of other phases and of its\n"
    "own), and phases are cut where the right number of voxels lies below; voxels\n"
    "of equal value count in the order of their index. Objects and grains so grow\n"
    "or shrink together by a part of a voxel.\n"
    "\n"
    "With --num-samples a dataset for training is made (mesoforge info tells of it).\n"
    "Its samples have two phases, exact fractions, and the kinds as classes, as many\n"
    "of each. Volume fraction and length come from one distribution for all kinds,\n"
    "so neither tells the kind: lines along the axes meet 2 f (1 - f) / l interfaces\n"
    "per voxel. Sample i depends on the seed and i alone. Beside each sample stand\n"
    "its class and properties of phase 1: volume_fraction; the length l;\n"
    "interface_density (faces per voxel); percolates_x (0 or 1); straightness_x, one\n"
    "over the tortuosity along x, and 0 where no path leads through;\n"
    "matrix_straightness_x, the same of phase 0; s2_R, the two-point probability at\n"
    "R voxels along the axes.\n"
    "\n"
    "With --questions every image is asked Q questions, which our measures answer:\n"
    "does a phase percolate, is it the larger one, is it connected, where is its\n"
    "largest component, which quarter does its fraction lie in, is the structure\n"
    "aligned, of which kind is it. In every split each yes/no question has as many\n"
    "yes as no. The two phases change places in half of the images of each kind, and\n"
    "half of the gaussian ones are stretched, so that the class tells less. Some\n"
    "phrasings occur in the test split alone.\n"
    "\n"
    "Examples:\n"
    "  mesoforge synth --num-samples 4000 --size 64 64 --output micro.h5 \\\n"
    "      --kinds gaussian,spheres,grains,lamellae\n"
    "  mesoforge synth --num-samples 6000 --questions 4 --size 64 64 \\\n"
    "      --output asked.h5\n"
    "  mesoforge synth --output field.png --volume-fraction 0.4 --exact\n"
    "  mesoforge synth --size 64 64 64 --correlation-length 4 --stretch 1 1 3\n"
    "  mesoforge synth --kind hard-spheres --size 128 128 128 --radius 8 \\\n"
    "      --volume-fraction 0.3 --list spheres.csv\n"
    "  mesoforge synth --kind voronoi --phases 3 --grains 400 --output grains.tif\n"
    "  mesoforge synth --kind lamellae --size 96 96 96 --period 12 \\\n"
    "      --normal 1 0 1 --waviness 2 --output layers.npy\n"
    "  mpirun -n 4 mesoforge synth --kind spheres --size 512 512 512 --radius 20\n";
/* clang-format on */

const struct mf_cmd mf_cmd_synth = {
    .name = "synth",
    .summary = "make a microstructure with known statistics",
    .synopsis = "[--kind KIND | --num-samples N] [--size [NZ] NY NX] [--volume-fraction F ...] [--output FILE]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct synth_opts),
    .positional_max = 0,
    .check = check,
    .run = run_synth,
    .writes = 1,
    .in_library = 1,
};
