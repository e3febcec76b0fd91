/* See bench_runs.h. A run is a child process: this program under a launcher, as a user starts it. */
#include "src/cmd/bench_runs.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cores.h"
#include "slurm/launcher.h"
#include "slurm/render.h"
#include "src/base/child.h"
#include "src/base/err.h"
#include "src/base/folder.h"
#include "src/bench/scaling.h"
#include "src/cmd/bench_show.h"

/* Runs reconstruct images of so many pixels along each edge. Trainings use images of one size, with so many in a
 * step. Samples that are made are smaller ones. */
enum { IMAGE = 128, SAMPLES = 1600, SAMPLE = 64, STEP = 64, STEPS = 20, SMALL = 32, SET = 128 };

enum {
    WORDS = 64, /* of a command: LAUNCHER and those of a run */
    LAUNCHER = 32,
    WORD = 4200,
    SCALINGS = 64,
    CROWD = 4 /* ranks of a core */
};

/* How long one evaluation should be looked at: a quarter of a second, about. */
static const double VOXELS_PER_SECOND = 1e8;

struct runs {
    const struct mf_session *session;
    const struct mf_bench_runs *o;
    char folder[WORD / 4];
    char text[WORDS][WORD]; /* the words of a command */
    char *word[WORDS + 1];
    size_t words;
    size_t made; /* sets: a set that is there would not be made again */
};

/* Kind of measurement: the end of a run's command behind the verb's inputs. It also has the place of the seconds in its
 * answer.
 */
struct kind {
    const char *name, *unit;
    void (*command)(struct runs *r, const size_t dims[3]);
    double (*seconds)(const struct mf_json *said);
};

static void add(struct runs *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct runs *r, const char *format, ...)
{
    va_list args;

    if (r->words == WORDS) mf_die(MF_BROKEN, __FILE__, __LINE__, "a command of more than %d words", WORDS);
    va_start(args, format);
    vsnprintf(r->text[r->words], WORD, format, args);
    va_end(args);
    r->word[r->words] = r->text[r->words];
    r->word[++r->words] = NULL;
}

/* Several words, parted by blanks. */
static void add_all(struct runs *r, const char *words)
{
    for (size_t n; *(words += strspn(words, " ")); words += n) {
        n = strcspn(words, " ");
        add(r, "%.*s", (int)n, words);
    }
}

/* --size and extents. */
static void add_size(struct runs *r, size_t count, const size_t *dims)
{
    add(r, "--size");
    for (size_t a = 0; a < count; ++a) add(r, "%zu", dims[a]);
}

static const char *image_of(struct runs *r, char name[WORD])
{
    if (r->o->image) return r->o->image;
    snprintf(name, WORD, "%s/target.npy", r->folder);
    return name;
}

static void volume_of(const struct runs *r, const size_t dims[3], char name[WORD])
{
    snprintf(name, WORD, "%s/%zux%zux%zu.npy", r->folder, dims[0], dims[1], dims[2]);
}

static void reconstruct(struct runs *r, const size_t dims[3])
{
    double evaluations = VOXELS_PER_SECOND / ((double)dims[0] * (double)dims[1] * (double)dims[2]) / 4;
    char name[WORD];

    add(r, "match");
    add(r, "%s", image_of(r, name));
    add(r, "--limit_to=%d", MF_BENCH_LAG);
    add_size(r, 3, dims);
    add(r, "--max_iter=%ld", evaluations < 10 ? 10 : evaluations > 1000 ? 1000 : (long)evaluations);
    add_all(r, "--tolerance 0 --no_polish --descriptor_types FFTCorrelations Variation --output");
    add(r, "%s/out.npy", r->folder);
}

static double per_evaluation(const struct mf_json *said) { return mf_json_get_real(said, "seconds_per_evaluation"); }

static void characterize(struct runs *r, const size_t dims[3])
{
    char name[WORD];

    volume_of(r, dims, name);
    add(r, "characterize");
    add(r, "%s", name);
    add(r, "--limit_to=%d", MF_BENCH_LAG);
    add(r, "--output=%s/out.h5", r->folder);
}

/* Seconds of the stage in the --log-view, of the slowest rank. */
static double characterising(const struct mf_json *said)
{
    const struct mf_json *rows = mf_json_get(mf_json_get(said, "log_view"), "rows");

    for (size_t i = 0; i < mf_json_count(rows); ++i) {
        const struct mf_json *row = mf_json_item(rows, i);

        if (strcmp(mf_json_get_text(row, "name"), "characterise") == 0)
            return mf_json_get_real(mf_json_get(row, "seconds"), "max");
    }
    return 0;
}

/* Weak: the step grows with the ranks, as extents of volumes do. */
static void train(struct runs *r, const size_t dims[3])
{
    add_all(r, "train classify --arch cnn --epochs 1000 --no-plots --no-csv --no-events --restart no --data");
    add(r, "%s/samples.h5", r->folder);
    add(r, "--results-dir=%s/run", r->folder);
    add(r, "--max-steps=%d", STEPS);
    add(r, "--effective-batch=%zu", STEP * dims[0] / dims[1]);
}

static double per_step(const struct mf_json *said) { return mf_json_get_real(said, "seconds_per_step"); }

/* Weak: the set grows with the ranks. */
static void generate(struct runs *r, const size_t dims[3])
{
    add_all(r, "generate --steps 2 --model");
    add(r, "%s/unet", r->folder);
    add(r, "--num-samples=%zu", SET * dims[0] / dims[1]);
    add(r, "--output=%s/made%zu.h5", r->folder, r->made++);
}

static double making(const struct mf_json *said) { return mf_json_get_real(mf_json_get(said, "speed"), "seconds"); }

static const struct kind kinds[] = {
    {"reconstruct", "an evaluation", reconstruct, per_evaluation},
    {"characterize", "the descriptors", characterize, characterising},
    {"kernels", "an evaluation", reconstruct, per_evaluation},
    {"train", "a step of the cnn", train, per_step},
    {"generate", "the samples", generate, making},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *find(const char *what)
{
    for (int i = 0; i < KINDS; ++i)
        if (strcmp(kinds[i].name, what) == 0) return &kinds[i];
    return NULL;
}

int mf_bench_runs_has(const char *what) { return find(what) != NULL; }

/* Refuses numbers of ranks that do not grow. */
static int check_ranks(const struct mf_longs *ranks)
{
    if (ranks->count < 1 || ranks->count > SCALINGS)
        return mf_fail(MF_USAGE, "--scaling must have 1 to %d numbers of ranks", SCALINGS);
    for (size_t i = 0; i < ranks->count; ++i)
        if (ranks->at[i] < 1 || ranks->at[i] > 1 << 20 || (i > 0 && ranks->at[i] <= ranks->at[i - 1]))
            return mf_fail(MF_USAGE, "--scaling must have increasing numbers of ranks from 1 on, not %ld",
                           ranks->at[i]);
    return MF_OK;
}

/* Within a step of srun, srun waits for the tasks that this step holds. */
static int is_srun(const char *launcher)
{
    const char *first = launcher + strspn(launcher, " ");
    const char *end = first + strcspn(first, " "), *name = end;

    while (name > first && name[-1] != '/') --name;
    return end - name == 4 && strncmp(name, "srun", 4) == 0;
}

static int check_starter(const struct mf_session *s, const struct mf_bench_runs *o)
{
    const char *kind = s->ahead ? s->ahead : mf_launcher_find().kind;
    const int is_step = strcmp(kind, "srun") == 0;

    if (s->comm->size == 1 && !(is_step && (!o->launcher || is_srun(o->launcher)))) return MF_OK;
    return mf_fail(MF_USAGE,
                   "bench starts its own runs: start it without %s and give --scaling 1,2,4; in a Slurm job use "
                   "slurm/bench.sbatch",
                   s->ahead                                 ? "launch"
                   : is_step || strcmp(kind, "mpirun") == 0 ? kind
                                                            : "a launcher");
}

static int check_launcher(const char *launcher)
{
    size_t words = 0;

    if (!launcher) return MF_OK;
    for (const char *at = launcher + strspn(launcher, " "); *at; at += strspn(at, " ")) {
        at += strcspn(at, " ");
        ++words;
    }
    if (words >= 1 && words <= LAUNCHER && strlen(launcher) < WORD) return MF_OK;
    return mf_fail(MF_USAGE, "--launcher must have 1 to %d words and fewer than %d letters, not %zu and %zu", LAUNCHER,
                   WORD, words, strlen(launcher));
}

int mf_bench_runs_check(const struct mf_session *s, const struct mf_bench_runs *o)
{
    MF_TRY(check_starter(s, o));
    MF_TRY(check_launcher(o->launcher));
    MF_TRY(check_ranks(&o->scaling));
    if (!o->launcher && !s->ahead && !mf_launcher_find().is_inside &&
        o->scaling.at[o->scaling.count - 1] > CROWD * sysconf(_SC_NPROCESSORS_ONLN))
        return mf_fail(MF_USAGE,
                       "--scaling: %ld ranks would compete for the %ld cores of this machine; give fewer ranks, or a "
                       "--launcher that starts them on other machines",
                       o->scaling.at[o->scaling.count - 1], sysconf(_SC_NPROCESSORS_ONLN));
    if (o->extent < 2 * MF_BENCH_LAG || o->extent > 1 << 16)
        return mf_fail(MF_USAGE, "--extent is %ld, it must be from %d to %d", o->extent, 2 * MF_BENCH_LAG, 1 << 16);
    if (o->turns < 1 || o->turns > MF_BENCH_TURNS)
        return mf_fail(MF_USAGE, "--turns is %ld, it must be from 1 to %d", o->turns, MF_BENCH_TURNS);
    return MF_OK;
}

/* Threads of every rank, the same for all numbers of ranks. They are --threads, or such that the largest number of
 * ranks fills the cores of this node. */
static long threads_of(const struct runs *r)
{
    const long nodes = r->o->launcher ? 1 : mf_launcher_find().job_nodes; /* srun deals ranks to all of them */
    long most = r->o->scaling.at[r->o->scaling.count - 1];

    if (nodes > 1) most = (most + nodes - 1) / nodes;
    if (!r->session->threads_free) return r->session->threads;
    return r->session->threads > most ? r->session->threads / most : 1;
}

/* Command that starts ranks: the user's words, else as `launch` does. One rank needs none, unless a launcher was asked
 * for. */
static void begin(struct runs *r, long ranks)
{
    const char *launcher = r->o->launcher;
    char self[WORD];
    struct mf_words starter = {0};
    struct mf_job job = {.by = mf_launcher_find().is_inside ? MF_BY_SRUN : MF_BY_MPIRUN,
                         .parts = 1,
                         .mpi = "pmix",
                         .user = (long)geteuid()};

    r->words = 0;
    mf_child_self(self, sizeof self);
    if (launcher) {
        add_all(r, launcher);
        add(r, "-n");
        add(r, "%ld", ranks);
    } else if (ranks > 1) {
        job.part[0].ranks = ranks;
        job.part[0].cores = job.by == MF_BY_SRUN ? threads_of(r) : 0; /* mpirun: not bound */
        mf_job_words(&job, &starter);
    }
    for (size_t i = 0; i < starter.count; ++i) add(r, "%s", starter.at[i]);
    mf_words_free(&starter);
    add(r, "%s", self);
}

/* Options of ours that are the run's. */
static void pass_on(struct runs *r)
{
    const struct mf_common *c = mf_common_of(r->session);

    add(r, "--threads=%ld", threads_of(r));
    if (c->share_gpu) add(r, "--share-gpu");
    if (c->deterministic) add(r, "--deterministic");
    add(r, "--device=%s", c->device);
    add(r, "--logging_level=40");
}

/* Gets the JSON of a run; a run that refuses is refused with its own code. */
static int run_it(struct runs *r, struct mf_json **said)
{
    const struct mf_child child = {.words = r->word, .drops = mf_child_ranks};
    char line[WORD / 4] = "", *out = NULL;
    int status, rc = MF_OK;

    mf_cores_release(); /* nothing is computed here, and what is started has this thread's */
    status = mf_child_run(&child, &out);

    for (size_t i = 0, at = 0; i < r->words && at < sizeof line - 1; ++i)
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", i ? " " : "", r->word[i]);
    *said = status == 0 ? mf_json_parse(out) : NULL;
    if (status == -2)
        rc = mf_fail(MF_DEVICE, "cannot start '%s' (%s); name another with --launcher", r->word[0], strerror(errno));
    else if (mf_child_heard())
        rc = mf_child_stopped();
    else if (status == MF_STOPPED || status == 128 + SIGINT || status == 128 + SIGTERM)
        rc = mf_fail(MF_DEVICE, "the measured run was stopped before its end (status %d): %s", status, line);
    else if (status != 0)
        rc = mf_fail(status >= MF_USAGE && status <= MF_OUTPUT ? status : MF_DEVICE,
                     "the measured run ended with status %d: %s", status, line);
    else if (!*said)
        rc = mf_fail(MF_DEVICE, "the measured run printed no JSON: %s", line);
    free(out);
    return rc;
}

/* @p more: words that say what is made. */
static int make(struct runs *r, const char *name, size_t count, const size_t *dims, const char *more)
{
    struct mf_json *said;
    int rc;

    begin(r, 1);
    add(r, "synth");
    add_size(r, count, dims);
    add_all(r, more);
    add_all(r, "--json --output");
    add(r, "%s", name);
    pass_on(r);
    rc = run_it(r, &said);
    mf_json_free(said);
    return rc;
}

/* A network that makes samples: what it has learnt does not change its speed. */
static int make_network(struct runs *r)
{
    const size_t size[2] = {SMALL, SMALL};
    struct mf_json *said = NULL;
    char name[WORD];
    int rc;

    snprintf(name, sizeof name, "%s/small.h5", r->folder);
    MF_TRY(make(r, name, 2, size, "--num-samples 64"));
    begin(r, 1);
    add_all(r, "train unet --max-steps 1 --made-samples 0 --no-plots --no-csv --no-events --json --data");
    add(r, "%s", name);
    add(r, "--results-dir=%s/unet", r->folder);
    pass_on(r);
    rc = run_it(r, &said);
    mf_json_free(said);
    return rc;
}

/* The input of a run, if it is not there yet. */
static int input(struct runs *r, const struct kind *kind, const size_t dims[3])
{
    static const char blobs[] = "--volume-fraction 0.4 --correlation-length 6";
    const size_t square[2] = {IMAGE, IMAGE}, sample_size[2] = {SAMPLE, SAMPLE};
    char name[WORD], many[64];

    if (kind->command == train) {
        snprintf(name, sizeof name, "%s/samples.h5", r->folder);
        snprintf(many, sizeof many, "--num-samples %d", SAMPLES);
        return access(name, F_OK) == 0 ? MF_OK : make(r, name, 2, sample_size, many);
    }
    if (kind->command == generate) {
        snprintf(name, sizeof name, "%s/unet", r->folder);
        return access(name, F_OK) == 0 ? MF_OK : make_network(r);
    }
    if (kind->command == characterize) {
        volume_of(r, dims, name);
        return access(name, F_OK) == 0 ? MF_OK : make(r, name, 3, dims, blobs);
    }
    (void)image_of(r, name);
    return r->o->image || access(name, F_OK) == 0 ? MF_OK : make(r, name, 2, square, blobs);
}

static int sample(struct runs *r, const struct kind *kind, struct mf_bench_point *p, struct mf_json **said)
{
    begin(r, p->ranks);
    kind->command(r, p->dims);
    pass_on(r);
    add_all(r, kind->command == generate ? "--json" : "--json --log-view");
    MF_TRY(run_it(r, said));
    p->sample[p->samples++] = kind->seconds(*said);
    return p->sample[p->samples - 1] > 0 ? MF_OK : mf_fail(MF_DEVICE, "the measured run printed no time");
}

/* Runs all numbers of ranks alternately, up and down, so that other load affects all alike. */
static int take_turns(struct runs *r, const struct kind *kind, struct mf_bench_point *points, size_t n,
                      struct mf_json **last)
{
    for (long turn = 0; turn < r->o->turns; ++turn)
        for (size_t i = 0; i < n; ++i) {
            struct mf_json *said = NULL;
            int rc = sample(r, kind, &points[turn % 2 ? n - 1 - i : i], &said);

            mf_json_free(*last);
            *last = said;
            MF_TRY(rc);
        }
    return MF_OK;
}

static int scale(struct runs *r, const struct kind *kind, int weak, struct mf_json *to)
{
    const struct mf_longs *ranks = &r->o->scaling;
    struct mf_bench_point *points = MF_MUST(calloc(ranks->count, sizeof *points), "points of a scaling");
    const size_t n = (size_t)r->o->extent;
    struct mf_json *last = NULL, *table;
    int rc = MF_OK;

    for (size_t i = 0; i < ranks->count && rc == MF_OK; ++i) {
        points[i].ranks = ranks->at[i];
        points[i].dims[0] = weak ? n * (size_t)ranks->at[i] / (size_t)ranks->at[0] : n;
        points[i].dims[1] = points[i].dims[2] = n;
        rc = input(r, kind, points[i].dims);
    }
    if (rc == MF_OK) rc = take_turns(r, kind, points, ranks->count, &last);
    if (rc == MF_OK) {
        mf_bench_scaling(points, ranks->count, weak);
        if (!mf_common_of(r->session)->json) {
            mf_bench_show_points(kind->name, kind->unit, threads_of(r), weak, points, ranks->count);
            if (!weak) mf_bench_show_more_ranks(points, ranks->count);
            if (mf_json_get(last, "speed")) mf_bench_show_speed(mf_json_get(last, "speed"));
        }
        table = mf_bench_points_json(kind->name, threads_of(r), weak, points, ranks->count);
        if (mf_json_get(last, "speed")) mf_json_put(table, "speed", mf_json_copy(mf_json_get(last, "speed")));
        mf_json_put(to, NULL, table);
    }
    mf_json_free(last);
    free(points);
    return rc;
}

/* The kernels of one evaluation, as --log-view of a run on one rank has them. */
static int kernels(struct runs *r, const struct kind *kind, struct mf_json *to)
{
    struct mf_bench_point one = {.ranks = 1,
                                 .dims = {(size_t)r->o->extent, (size_t)r->o->extent, (size_t)r->o->extent}};
    struct mf_json *said = NULL;
    int rc = input(r, kind, one.dims);

    if (rc == MF_OK) rc = sample(r, kind, &one, &said);
    if (rc == MF_OK) {
        struct mf_json *view = mf_json_get(said, "log_view");

        if (!mf_common_of(r->session)->json) mf_bench_show_kernels(one.dims, view);
        mf_json_put(to, NULL, mf_bench_kernels_json(one.dims, view));
    }
    mf_json_free(said);
    return rc;
}

int mf_bench_runs_measure(const struct mf_session *session, const struct mf_bench_runs *o, const char *what,
                          struct mf_json *to)
{
    struct runs *r = MF_MUST(calloc(1, sizeof *r), "commands");
    const char *base = mf_given(session, "data_folder") ? mf_common_of(session)->data_folder : ".";
    const struct kind *kind = find(what);
    int rc = MF_OK;

    r->session = session;
    r->o = o;
    snprintf(r->folder, sizeof r->folder, "%.900s/mesoforge-bench-XXXXXX", base); /* all nodes see it */
    mf_child_hold();
    rc = mf_folder_make(r->folder);
    if (rc != MF_OK) {
        mf_child_let();
        free(r);
        return rc;
    }
    if (strcmp(what, "kernels") == 0)
        rc = kernels(r, kind, to);
    else
        rc = scale(r, kind, 0, to);
    if (rc == MF_OK && o->weak && strcmp(what, "kernels") != 0) rc = scale(r, kind, 1, to);
    mf_folder_remove(r->folder);
    mf_child_let();
    free(r);
    return rc == MF_OK ? mf_child_stopped() : rc;
}
