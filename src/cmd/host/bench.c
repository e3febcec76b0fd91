/* bench: measures how fast this machine does the program's work. A kind of measurement is one line in kinds[]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/bench/net.h"
#include "src/cmd/bench_runs.h"
#include "src/cmd/bench_show.h"
#include "src/cmd/cmd.h"

struct bench {
    struct mf_common common;
    const char *least, *most;
    long factor;
    double precision, seconds;
    struct mf_bench_runs runs;
};

static const struct mf_opt rows[] = {
    MF_OPT(bench, "min_bytes", least, MF_TEXT, "8", "smallest message; K, M and G are powers of 1024"),
    MF_OPT(bench, "max_bytes", most, MF_TEXT, "16M", "largest message"),
    MF_OPT(bench, "factor", factor, MF_LONG, "8", "ratio of successive message sizes"),
    MF_OPT(bench, "precision", precision, MF_REAL, "2",
           "measure until half the 95 % interval of the median is below this [%]"),
    MF_OPT(bench, "seconds", seconds, MF_REAL, "1", "longest time for one row"),
    MF_OPT(bench, "scaling", runs.scaling, MF_LONGS, "1", "measure a verb on these numbers of ranks"),
    MF_OPT(bench, "weak", runs.weak, MF_FLAG, NULL, "also with a height that grows with the ranks"),
    MF_OPT(bench, "extent", runs.extent, MF_LONG, "64", "voxels along each edge of the volume (io: 256 unless given)"),
    MF_OPT(bench, "turns", runs.turns, MF_LONG, "3", "runs of a verb on each number of ranks"),
    MF_OPT(bench, "launcher", runs.launcher, MF_TEXT, NULL,
           "what starts ranks, before -n RANKS (default: srun in a Slurm job, else mpirun)"),
    MF_OPT(bench, "image", runs.image, MF_TEXT, NULL, "reconstruct from this micrograph (default: one is made)"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

/* "16M" */
static int parse_bytes(const char *option, const char *text, size_t *bytes)
{
    static const char units[] = "KMG";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (end == text || (*end && (!unit || end[1])) || !(value >= 1 && value < 1e12))
        return mf_fail(MF_USAGE, "--%s must be bytes, like 4096 or 16M, not '%.100s'", option, text);
    for (const char *u = units; unit && u <= unit; ++u) value *= 1024;
    if (value > (double)((size_t)1 << 32)) return mf_fail(MF_USAGE, "--%s: at most 4G, not '%.100s'", option, text);
    *bytes = (size_t)value;
    return MF_OK;
}

struct range {
    size_t least, most;
};

static int check_numbers(const struct mf_session *s, const struct bench *o, struct range *range)
{
    if (o->runs.extent < 2 || o->runs.extent > 1 << 16)
        return mf_fail(MF_USAGE, "--extent is %ld, it must be from 2 to %d", o->runs.extent, 1 << 16);
    if (s->settings.dry_run) return mf_fail(MF_USAGE, "bench has no --dry-run: it only measures");
    MF_TRY(parse_bytes("min_bytes", o->least, &range->least));
    MF_TRY(parse_bytes("max_bytes", o->most, &range->most));
    if (range->least > range->most)
        return mf_fail(MF_USAGE, "--min_bytes %s is more than --max_bytes %s", o->least, o->most);
    if (o->factor < 2 || o->factor > 1 << 20)
        return mf_fail(MF_USAGE, "--factor is %ld, it must be from 2 to %d", o->factor, 1 << 20);
    if (!(o->precision > 0)) return mf_fail(MF_USAGE, "--precision is %g, it must be above 0", o->precision);
    if (!(o->seconds > 0)) return mf_fail(MF_USAGE, "--seconds is %g, it must be above 0", o->seconds);
    if (mf_arguments(s, NULL) == 0)
        return mf_fail(MF_USAGE, "bench: name what to measure; try: mesoforge bench allreduce");
    return MF_OK;
}

static int no_such(const char *name)
{
    char list[200] = "reconstruct, characterize, train, generate, kernels, io";

    for (const struct mf_bench_net *net = mf_bench_nets; net->name; ++net) {
        size_t at = strlen(list);

        snprintf(list + at, sizeof list - at, ", %s", net->name);
    }
    return mf_fail(MF_USAGE, "bench cannot measure '%.100s'; name one of %s", name, list);
}

static int check_names(const struct mf_session *s, const struct bench *o)
{
    const char *const *name;
    size_t n = mf_arguments(s, &name);

    for (size_t i = 0; i < n; ++i) {
        if (mf_bench_runs_has(name[i])) {
            MF_TRY(mf_bench_runs_check(s, &o->runs));
            continue;
        }
        if (strcmp(name[i], "io") == 0) continue;
        if (!mf_bench_net_find(name[i])) return no_such(name[i]);
        if (s->comm->size < 2 && s->ahead)
            return mf_fail(MF_USAGE, "bench %s needs at least two ranks; try: --ntasks 2 before '--'", name[i]);
        if (s->comm->size < 2)
            return mf_fail(MF_USAGE, "bench %s needs at least two ranks; try: mpirun -n 2 mesoforge bench %s", name[i],
                           name[i]);
    }
    return MF_OK;
}

static int check(const struct mf_session *s, void *options)
{
    const struct bench *o = options;
    struct range range;

    MF_TRY(check_numbers(s, o, &range));
    return check_names(s, o);
}

static struct mf_json *what_json(const struct mf_bench_net *net, struct mf_json *rows_taken)
{
    struct mf_json *one = mf_json_object();

    MF_JSON(one, "what", net->name, "redop", net->redop, "rows", rows_taken);
    return one;
}

static int measure_net(const struct mf_session *s, const struct bench *o, const struct range *range,
                       const struct mf_bench_net *net, struct mf_json *to)
{
    const struct mf_bench_enough enough = {o->precision / 100, o->seconds};
    const int shows = s->comm->rank == 0 && !mf_common_of(s)->json;
    struct mf_json *table = mf_json_array();
    struct mf_bench_row row;
    int rc = MF_OK;

    if (shows) mf_bench_show_head(net, s->comm->size);
    for (size_t bytes = range->least; bytes <= range->most && rc == MF_OK; bytes *= (size_t)o->factor) {
        rc = mf_bench_net_measure(net, s->comm, s->queue, &enough, bytes, &row);
        if (rc == MF_OK && row.wrong > 0)
            rc = mf_fail(MF_BROKEN, "%s of %zu bytes: %zu elements are wrong", net->name, row.bytes, row.wrong);
        if (rc == MF_OK && shows) mf_bench_show_row(net, &row);
        if (rc == MF_OK) mf_json_put(table, NULL, mf_bench_row_json(&row));
    }
    mf_json_put(to, NULL, what_json(net, table));
    return rc;
}

enum { FILE_EXTENT = 256 }; /* of smaller ones the time is that of opening, flushing and renaming files */

static int measure_files(const struct mf_session *s, const struct bench *o, struct mf_json *to)
{
    const struct mf_bench_enough enough = {o->precision / 100, o->seconds};
    const char *folder = mf_given(s, "data_folder") ? mf_common_of(s)->data_folder : ".";
    const size_t n = mf_given(s, "extent") ? (size_t)o->runs.extent : FILE_EXTENT;
    struct mf_bench_files files;

    MF_TRY(mf_bench_files(s->comm, s->arena, &enough, folder, n, &files));
    if (files.wrong > 0) return mf_fail(MF_BROKEN, "%zu bytes differ from those written", files.wrong);
    if (s->comm->rank == 0 && !mf_common_of(s)->json) mf_bench_show_files(s->comm->size, n, &files);
    mf_json_put(to, NULL, mf_bench_files_json(n, &files));
    return MF_OK;
}

static int measure_one(const struct mf_session *s, const struct bench *o, const struct range *range, const char *what,
                       struct mf_json *to)
{
    if (mf_bench_runs_has(what)) return mf_bench_runs_measure(s, &o->runs, what, to);
    if (strcmp(what, "io") == 0) return measure_files(s, o, to);
    return measure_net(s, o, range, mf_bench_net_find(what), to);
}

static int run(struct mf_session *s, void *options)
{
    const struct bench *o = options;
    struct mf_json *json, *list;
    const char *const *name;
    struct range range;
    int rc = check_numbers(s, o, &range);
    size_t n;

    MF_TRY(mf_agree(s->comm, rc));
    MF_TRY(mf_session_may_write(s, mf_common_of(s)->output, ".json"));
    n = mf_arguments(s, &name);
    json = mf_json_object();
    list = mf_json_array();
    rc = mf_bench_place(s, json);
    for (size_t i = 0; i < n && rc == MF_OK; ++i) rc = measure_one(s, o, &range, name[i], list);
    mf_json_put(json, "measured", list);
    if (rc == MF_OK) rc = mf_bench_write(s, json);
    mf_json_free(json);
    return rc;
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "WHAT is one or more of\n"
    "  reconstruct     one evaluation of a reconstruction\n"
    "  characterize    the descriptors of a volume\n"
    "  train           one step of a network on 64 images of 64 x 64; --weak: on 64\n"
    "                  for the least number of ranks, and in proportion for others\n"
    "  generate        128 samples of 32 x 32 by a small U-Net in 2 steps: how many in\n"
    "                  a second, beside the network alone; --weak: 128 for the least\n"
    "                  number of ranks, and in proportion for others\n"
    "  kernels         the kernels of an evaluation, each compared with the peak of\n"
    "                  the cores\n"
    "in separate runs that alternate between the numbers of ranks of --scaling:\n"
    "seconds, speedup, efficiency, the serial fraction (Karp and Flatt), and what it\n"
    "leaves of the speedup of up to 4096 ranks. Or\n"
    "  infer FOLDER    tokens per second of a language model: a verb of its own\n"
    "  io              a volume of labels to the disk and back: our files, HDF5\n"
    "                  alone, bytes alone, in --data_folder, which must exist\n"
    "                  (default: the current one)\n"
    "or exchanges between ranks, in the columns of nccl-tests:\n"
    "  allreduce       sums over all ranks, of losses and gradients\n"
    "  reduce-scatter  the same, each rank its part (MPI's)\n"
    "  all-gather      every rank's part, on all (MPI's)\n"
    "  alltoall        slabs of a volume into whole slices\n"
    "  evaluation      those of two directions, and their gradients back\n"
    "  halo            a plane from the rank below and one from the rank above\n"
    "  p2p             rank r with rank n - 1 - r, both ways (MPI's)\n"
    "MPI's plain call with as many bytes is measured alternately in the same loop.\n"
    "Times are medians, of the slowest rank. busbw is algbw times what the best way\n"
    "sends over each link: all-reduce 2 (n - 1) / n, evaluation 4 (n - 1) / n, halo\n"
    "and p2p 1, others (n - 1) / n. #wrong counts wrong numbers.\n"
    "\n"
    "Examples:\n"
    "  mpirun -n 4 mesoforge bench allreduce\n"
    "  srun --mpi=pmix -n 16 mesoforge bench alltoall halo --output net.json\n"
    "  mesoforge bench reconstruct --scaling 1,2,4 --weak --extent 128\n"
    "  mesoforge bench kernels --extent 256\n";
/* clang-format on */

const struct mf_cmd mf_cmd_bench = {
    .name = "bench",
    .summary = "measure verbs, kernels, files and exchanges on this machine",
    .synopsis = "WHAT ... [--scaling 1,2,4] [--extent N] [--max_bytes 16M] [--json]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct bench),
    .positional_max = 16,
    .check = check,
    .run = run,
    .work = MF_WORK_GPUS,
};
