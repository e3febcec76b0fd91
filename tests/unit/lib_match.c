/* The library as a host sees it: match, its progress, and stops. It prints nothing where all is well. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/lib_host.h"

struct steps {
    mesoforge_session *session;
    long heard, most; /* it stops after so many; 0: never */
    double share;     /* the largest that it heard */
    const char *only; /* steps of this name count alone; NULL: all */
};

static int hear_step(void *context, const char *what, double share)
{
    struct steps *steps = context;

    CHECK(*what && share <= 1);
    if (steps->only && strcmp(what, steps->only) != 0) return 1;
    steps->share = fmax(steps->share, share);
    return ++steps->heard != steps->most;
}

static void *cancel_soon(void *context)
{
    const struct steps *steps = context;

    nanosleep(&(struct timespec){0, 100000000}, NULL);
    CHECK(mesoforge_cancel(steps->session) == MESOFORGE_OK);
    return NULL;
}

static const char options[] =
    "limit-to=6 max-iter=30 seed=3 plan=off descriptor-types=FFTCorrelations descriptor-types=Variation";

static struct host begin(struct steps *steps)
{
    struct host h = start(NULL);

    steps->session = h.session;
    CHECK(mesoforge_on_progress(h.session, hear_step, steps) == MESOFORGE_OK);
    return h;
}

/* A structure of @p dims voxels with the volume fraction of the image. It is the array of the run, which begins at a
 * multiple of 64 bytes; copies begin anywhere. */
static void check_structure(const mesoforge_result *r, int ndim, const size_t *dims)
{
    struct mesoforge_array phase = {0};
    size_t voxels = 1, ones = 0, image_ones = 0;

    CHECK(mesoforge_result_array(r, 0, &phase) && phase.ndim == ndim);
    CHECK_SAYS((uintptr_t)phase.data % 64 == 0, "a copy at %p", phase.data);
    for (int a = 0; a < phase.ndim; ++a) {
        CHECK(phase.shape[a] == dims[a]);
        voxels *= phase.shape[a];
    }
    for (size_t i = 0; i < voxels; ++i) ones += ((const uint8_t *)phase.data)[i];
    for (int i = 0; i < N * N; ++i) image_ones += image[i / N][i % N];
    CHECK_SAYS(fabs((double)ones / (double)voxels - (double)image_ones / (N * N)) <= 0.5 / (double)voxels + 1e-12,
               "%zu of %zu voxels, of the image %zu of %d", ones, voxels, image_ones, N * N);
}

static void makes_a_structure(void)
{
    struct steps steps = {.most = 0};
    struct host h = begin(&steps);
    mesoforge_result *r = NULL, *none = NULL;
    struct mesoforge_array phase = {0}, labels = {0};

    CHECK_SAYS(mesoforge_match(h.session, h.field, options, &r) == MESOFORGE_OK, "%s",
               mesoforge_last_error()->sentence);
    CHECK(mesoforge_result_array(r, 0, &phase) && strcmp(phase.name, "phase") == 0 && strcmp(phase.type, "u1") == 0);
    check_structure(r, 2, (const size_t[]){N, N});
    CHECK(mesoforge_result_array(r, 1, &labels) && ((const int64_t *)labels.data)[1] == 1);
    CHECK(!mesoforge_result_array(r, 2, &labels) && strstr(mesoforge_result_json(r), "\"loss_final\""));
    CHECK_SAYS(steps.heard >= 10 && steps.share > 0.9, "%ld steps", steps.heard);
    mesoforge_result_free(r);
    CHECK(mesoforge_match(h.session, h.field, "limit-to=6 max-iter=0", &none) == MESOFORGE_USAGE);
    CHECK(mesoforge_match(h.session, h.field, "realisations=2", &none) == MESOFORGE_USAGE);
    CHECK(mesoforge_match(h.session, h.field, "restart=auto", &none) == MESOFORGE_USAGE && !none);
    CHECK(strcmp(mesoforge_last_error()->advice, "output=NAME.h5") == 0);
    mesoforge_close(h.session);
}

/* Every stage, method and grid stops at once, and leaves a structure. */
static void stops_anywhere(void)
{
    static const struct {
        const char *options, *step;
        long most;
        size_t size;
        int ndim;
    } cases[] = {
        {"", "evaluations", 1, N, 2},
        {"", "evaluations", 7, N, 2},
        {"descriptor-types=Patches descriptor-types=FFTCorrelations", "evaluations", 5, N, 2},
        {"optimizer-type=Adam", "evaluations", 6, N, 2},
        {"optimizer-type=SPG", "evaluations", 6, N, 2},
        {"optimizer-type=TNC max-iter=200", "evaluations", 2, N, 2},
        {"use-multigrid-reconstruction coarsest-grid=12 max-iter=40", "evaluations", 3, N, 2},
        {"", "polish", 1, N, 2},
        {"optimizer-type=SimulatedAnnealing max-iter=100000", "annealing", 1, N, 2},
        {"size=20,20,20 max-iter=80", "evaluations", 30, 20, 3},
        {"size=20,20,20 max-iter=80", "evaluations", 3, 20, 3},
        {"candidates=2", "evaluations", 35, N, 2},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct steps steps = {.only = cases[i].step, .most = cases[i].most};
        struct host h = begin(&steps);
        char all[300];
        mesoforge_result *r = NULL;
        int rc;

        snprintf(all, sizeof all, "limit-to=6 seed=3 plan=off %s %s%s", cases[i].options,
                 strstr(cases[i].options, "max-iter") ? "" : "max-iter=30 ",
                 strstr(cases[i].options, "types") ? ""
                                                   : "descriptor-types=FFTCorrelations descriptor-types=Variation");
        rc = mesoforge_match(h.session, h.field, all, &r);
        CHECK_SAYS(rc == MESOFORGE_STOPPED, "%s: code %d, %s", all, rc, mesoforge_last_error()->sentence);
        CHECK_SAYS(steps.heard == steps.most, "%s: %ld steps after the one that said stop", all,
                   steps.heard - steps.most);
        CHECK_SAYS(r && strstr(mesoforge_result_json(r), "\"stopped\":true"), "%s: no result", all);
        if (r) check_structure(r, cases[i].ndim, (const size_t[]){cases[i].size, cases[i].size, cases[i].size});
        mesoforge_result_free(r);
        mesoforge_close(h.session);
    }
}

static void obeys_another_thread(void)
{
    struct steps steps = {.most = 0};
    struct host h = begin(&steps);
    mesoforge_result *r = NULL;
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, cancel_soon, &steps) == 0);
    CHECK(mesoforge_match(h.session, h.field,
                          "size=32,32,32 limit-to=6 max-iter=100000 tolerance=0 plan=off "
                          "descriptor-types=FFTCorrelations descriptor-types=Variation",
                          &r) == MESOFORGE_STOPPED);
    CHECK(pthread_join(thread, NULL) == 0 && r);
    mesoforge_result_free(r);
    CHECK(mesoforge_match(h.session, h.field, options, &r) == MESOFORGE_OK);
    mesoforge_result_free(r);
    mesoforge_close(h.session);
}

/* Nothing is left to do of a run that has ended. Only a session that trusts its file can know. */
static void has_ended(const char *all)
{
    const struct mesoforge_array plain = of(image, "u1", N, 1);
    struct host h = {NULL, NULL};
    mesoforge_result *r = NULL;

    CHECK(mesoforge_open(&h.session, "threads=1 trust-files") == MESOFORGE_OK);
    CHECK(mesoforge_field_array(h.session, "image", &plain, &h.field) == MESOFORGE_OK);
    CHECK(mesoforge_match(h.session, h.field, all, &r) == MESOFORGE_USAGE && !r);
    CHECK(strcmp(mesoforge_last_error()->advice, "read it, or restart=no") == 0);
    mesoforge_close(h.session);
}

/* A run with an output is saved where it stops. The next goes on, and ends in the bits of an undisturbed run. */
static void goes_on(void)
{
    char folder[] = "/tmp/lib_match-XXXXXX", all[400], name[100];
    struct steps steps = {.only = "evaluations"};
    struct host h = begin(&steps);
    mesoforge_result *whole = NULL, *part = NULL, *rest = NULL;
    struct mesoforge_array a = {0}, b = {0};

    CHECK(mkdtemp(folder) != NULL);
    CHECK(mesoforge_match(h.session, h.field, options, &whole) == MESOFORGE_OK);
    snprintf(all, sizeof all, "%s output=%s/a.h5", options, folder);
    steps.heard = 0;
    steps.most = 9;
    CHECK(mesoforge_match(h.session, h.field, all, &part) == MESOFORGE_STOPPED && part);
    CHECK(strstr(mesoforge_last_error()->sentence, "when it was asked to") != NULL);
    CHECK(mesoforge_match(h.session, h.field, all, &rest) == MESOFORGE_USAGE && !rest);
    snprintf(all, sizeof all, "%s output=%s/a.h5 restart=auto", options, folder);
    steps.most = 0;
    CHECK_SAYS(mesoforge_match(h.session, h.field, all, &rest) == MESOFORGE_OK, "%s", mesoforge_last_error()->sentence);
    CHECK(mesoforge_result_array(whole, 0, &a) && mesoforge_result_array(rest, 0, &b));
    CHECK(a.data && b.data && memcmp(a.data, b.data, N * N) == 0);
    has_ended(all);
    snprintf(name, sizeof name, "%s/a.h5", folder);
    CHECK(unlink(name) == 0);
    snprintf(name, sizeof name, "%s/a.xdmf", folder);
    CHECK(unlink(name) == 0);
    snprintf(name, sizeof name, "%s/metrics.jsonl", folder);
    CHECK(unlink(name) == 0);
    CHECK(rmdir(folder) == 0); /* nothing else is left */
    mesoforge_result_free(whole);
    mesoforge_result_free(part);
    mesoforge_result_free(rest);
    mesoforge_close(h.session);
}

int main(void)
{
    draw();
    makes_a_structure();
    stops_anywhere();
    obeys_another_thread();
    goes_on();
    return failures != 0;
}
