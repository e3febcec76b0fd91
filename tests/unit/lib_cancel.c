/* Calls that another thread cancels at any moment. They end at once, and leave no file half written. The session serves
 * on. usage: lib_cancel [MOMENTS] */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/lib_host.h"

enum { EDGE = SANITIZED ? 48 : 72 };

static uint8_t volume[EDGE][EDGE][EDGE];

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double work_now(void) { return now(CLOCK_PROCESS_CPUTIME_ID); }

/* One who cancels after so many seconds. */
struct canceller {
    mesoforge_session *session;
    double after, work; /* processor time at the cancel */
};

static void *cancel(void *context)
{
    struct canceller *c = context;

    nanosleep(&(struct timespec){(time_t)c->after, (long)(1e9 * (c->after - (double)(time_t)c->after))}, NULL);
    c->work = work_now();
    CHECK(mesoforge_cancel(c->session) == MESOFORGE_OK);
    return NULL;
}

/* The longest silence of a call, in processor time. */
struct silence {
    double last, longest;
};

static int listen(void *context, const char *what, double share)
{
    struct silence *s = context;
    const double t = work_now();

    (void)share;
    CHECK(*what);
    s->longest = fmax(s->longest, t - s->last);
    s->last = t;
    return 1;
}

typedef int call(const struct host *h, const char *options, mesoforge_result **result);

static int measure_volume(const struct host *h, const char *options, mesoforge_result **result)
{
    return mesoforge_characterize(h->session, h->field, options, result);
}

static int make(const struct host *h, const char *options, mesoforge_result **result)
{
    return mesoforge_match(h->session, h->field, options, result);
}

static const char measured[] = "limit-to=20 non-periodic measures=euler measures=clusters measures=tortuosity "
                               "descriptor-types=FFTCorrelations descriptor-types=LinealPath descriptor-types=S2_3D";

static const char made[] = "limit-to=12 size=40,40,40 max-iter=60 seed=5 plan=off "
                           "descriptor-types=FFTCorrelations descriptor-types=Variation";

/* Nothing but whole files: the output, its companion, checkpoints and metrics. */
static void check_files(const char *folder)
{
    static const char *const names[] = {"a.h5", "a.xdmf", "a.ckpt-a.h5", "a.ckpt-b.h5", "metrics.jsonl", ".", ".."};
    DIR *all = opendir(folder);

    for (struct dirent *one; all && (one = readdir(all));) {
        size_t i = 0;

        while (i < sizeof names / sizeof *names && strcmp(one->d_name, names[i]) != 0) ++i;
        CHECK_SAYS(i < sizeof names / sizeof *names, "%s is left", one->d_name);
    }
    if (all) (void)closedir(all);
}

static void empty(const char *folder)
{
    static const char *const names[] = {"a.h5", "a.xdmf", "a.ckpt-a.h5", "a.ckpt-b.h5", "metrics.jsonl"};
    char name[120];

    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        (void)snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        (void)unlink(name);
    }
}

/* One call that is cancelled after a share of its time; returns whether it stopped. */
static int cancelled(const struct host *h, call *run, const char *options, double after, double *late)
{
    struct canceller c = {.session = h->session, .after = after};
    mesoforge_result *r = NULL;
    pthread_t thread;
    double work;
    int rc;

    CHECK(pthread_create(&thread, NULL, cancel, &c) == 0);
    rc = run(h, options, &r);
    work = work_now();
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_SAYS(rc == MESOFORGE_OK || rc == MESOFORGE_STOPPED, "code %d: %s", rc, mesoforge_last_error()->sentence);
    if (rc == MESOFORGE_STOPPED) *late = fmax(*late, work - c.work);
    mesoforge_result_free(r);
    return rc == MESOFORGE_STOPPED;
}

/* The end is the one of a call that nobody cancels. */
static void check_end(const struct host *h, call *run, const char *options, const mesoforge_result *want)
{
    struct mesoforge_array a = {0}, b = {0};
    mesoforge_result *r = NULL;
    size_t bytes = 1;

    CHECK_SAYS(run(h, options, &r) == MESOFORGE_OK, "%s", mesoforge_last_error()->sentence);
    CHECK(mesoforge_result_array(want, 0, &a) && mesoforge_result_array(r, 0, &b));
    if (a.type) bytes = (size_t)(a.type[1] - '0');
    for (int i = 0; i < a.ndim; ++i) bytes *= a.shape[i];
    CHECK(a.data && b.data && memcmp(a.data, b.data, bytes) == 0);
    mesoforge_result_free(r);
}

static void at_moments(call *run, const char *options, int moments, const char *folder)
{
    const struct mesoforge_array a = {
        .type = "u1", .ndim = 3, .shape = {EDGE, EDGE, EDGE}, .stride = {EDGE * EDGE, EDGE, 1}, .data = volume};
    struct host h = start(&a);
    struct silence silence = {.last = work_now()};
    mesoforge_result *want = NULL;
    double begin, took, late = 0;
    char with_file[400];
    int stopped = 0;

    CHECK(mesoforge_on_progress(h.session, listen, &silence) == MESOFORGE_OK);
    begin = now(CLOCK_MONOTONIC);
    CHECK(run(&h, options, &want) == MESOFORGE_OK);
    took = now(CLOCK_MONOTONIC) - begin;
    CHECK_SAYS(silence.longest < 0.5, "%g s of silence", silence.longest);
    (void)snprintf(with_file, sizeof with_file, "%s%s%s%s", options, folder ? " output=" : "", folder ? folder : "",
                   folder ? "/a.h5" : "");
    for (int i = 0; i < moments; ++i) {
        stopped += cancelled(&h, run, with_file, took * (i + drand48()) / moments, &late);
        if (!folder) continue;
        check_files(folder);
        if (i == moments / 2) {
            (void)snprintf(with_file, sizeof with_file, "%s output=%s/a.h5 restart=auto", options, folder);
            check_end(&h, run, with_file, want);
            (void)snprintf(with_file, sizeof with_file, "%s output=%s/a.h5", options, folder);
        }
        empty(folder);
    }
    check_end(&h, run, options, want);
    CHECK_SAYS(stopped >= moments / 3, "%d of %d stop", stopped, moments);
    CHECK_SAYS(late < (SANITIZED ? 1.5 : 0.5), "%g s after a cancel", late); /* sanitized code is slower */
    if (getenv("MF_LIB_TIMES"))
        printf("%d of %d stop; silence %.2f s, %.2f s after a cancel; %.2f s a call\n", stopped, moments,
               silence.longest, late, took);
    mesoforge_result_free(want);
    mesoforge_close(h.session);
}

/* Stops a call where it hears a step of this name. */
struct stopper {
    const char *step;
    int stopped;
};

static int stop_there(void *context, const char *what, double share)
{
    struct stopper *s = context;

    (void)share;
    s->stopped += strcmp(what, s->step) == 0;
    return s->stopped == 0;
}

/* Work of seconds hears of a stop in its midst, and the session serves on. */
static void inside_of_work(void)
{
    enum { WIDE = 160 };
    static const struct {
        const char *step, *options;
    } work[] = {{"neighbours", "limit-to=2 measures=boundaries"},
                {"S2_3D", "limit-to=48 descriptor-types=S2_3D"},
                {"lineal paths", "limit-to=24 descriptor-types=LinealPathApproximation"},
                {"correlations", "limit-to=24 descriptor-types=Correlations"}};
    uint8_t *wide = calloc(WIDE * WIDE, WIDE);
    const struct mesoforge_array a = {
        .type = "u1", .ndim = 3, .shape = {WIDE, WIDE, WIDE}, .stride = {WIDE * WIDE, WIDE, 1}, .data = wide};
    struct host h = start(&a);
    mesoforge_result *r = NULL;

    for (size_t i = 0; wide && i < (size_t)WIDE * WIDE * WIDE; ++i) wide[i] = i / 5 % 3 == 0;
    for (size_t i = 0; i < sizeof work / sizeof *work; ++i) {
        struct stopper s = {.step = work[i].step};
        double end;

        CHECK(mesoforge_on_progress(h.session, stop_there, &s) == MESOFORGE_OK);
        end = work_now() + (SANITIZED ? 30 : 3);
        CHECK(mesoforge_characterize(h.session, h.field, work[i].options, &r) == MESOFORGE_STOPPED);
        CHECK_SAYS(s.stopped && !r && work_now() < end, "%s: heard %d times", s.step, s.stopped);
    }
    CHECK(mesoforge_on_progress(h.session, NULL, NULL) == MESOFORGE_OK);
    CHECK(mesoforge_characterize(h.session, h.field, "limit-to=2", &r) == MESOFORGE_OK);
    mesoforge_result_free(r);
    mesoforge_close(h.session);
    free(wide);
}

/* The same of structures that are made without a target. */
static void inside_of_synth(void)
{
    static const char *const kinds[] = {"kind=gaussian", "kind=gaussian exact", "kind=voronoi", "kind=voronoi exact"};
    struct host h = start(NULL);
    mesoforge_result *r = NULL;
    char options[80];

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        struct stopper s = {.step = "structure"};

        snprintf(options, sizeof options, "size=224,224,224 %s", kinds[i]);
        CHECK(mesoforge_on_progress(h.session, stop_there, &s) == MESOFORGE_OK);
        CHECK_SAYS(mesoforge_run(h.session, "synth", NULL, options, &r) == MESOFORGE_STOPPED && s.stopped && !r,
                   "%s: heard %d times", options, s.stopped);
    }
    CHECK(mesoforge_on_progress(h.session, NULL, NULL) == MESOFORGE_OK);
    CHECK(mesoforge_run(h.session, "synth", NULL, "size=32,32", &r) == MESOFORGE_OK);
    mesoforge_result_free(r);
    mesoforge_close(h.session);
}

int main(int argc, char **argv)
{
    const int moments = argc > 1 ? atoi(argv[1]) : SANITIZED ? 4 : 12;
    char folder[] = "/tmp/lib_cancel-XXXXXX";

    for (int z = 0; z < EDGE; ++z)
        for (int y = 0; y < EDGE; ++y)
            for (int x = 0; x < EDGE; ++x)
                volume[z][y][x] = sin(0.5 * x + 0.3 * y) + cos(0.4 * y - 0.2 * z) + sin(0.3 * z + 0.2 * x) > 0.4;
    srand48(7);
    CHECK(mkdtemp(folder) != NULL);
    inside_of_work();
    inside_of_synth();
    at_moments(measure_volume, measured, moments / 2, NULL);
    at_moments(make, made, moments / 4, NULL);
    at_moments(make, made, moments / 4, folder);
    CHECK(rmdir(folder) == 0);
    return failures != 0;
}
