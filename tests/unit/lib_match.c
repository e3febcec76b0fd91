/* The library as a host sees it: match, its progress, and stops. It prints nothing where all is well. */
#include <pthread.h>
#include <time.h>

#include "tests/unit/lib_host.h"

struct steps {
    mesoforge_session *session;
    long heard, most; /* it stops after so many; 0: never */
    double share;     /* the largest that it heard */
};

static int hear_step(void *context, const char *what, double share)
{
    struct steps *steps = context;

    CHECK(*what && share <= 1);
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

/* Stops when its host says so, by an answer or from another thread, and works again. */
static void makes_a_structure(void)
{
    const char options[] =
        "limit-to=6 max-iter=30 seed=3 plan=off descriptor-types=FFTCorrelations descriptor-types=Variation";
    struct host h = start(NULL);
    struct steps steps = {.session = h.session, .most = 0};
    mesoforge_result *r = NULL, *none = NULL;
    struct mesoforge_array phase = {0}, labels = {0};
    pthread_t thread;

    CHECK(mesoforge_on_progress(h.session, hear_step, &steps) == MESOFORGE_OK);
    CHECK_SAYS(mesoforge_match(h.session, h.field, options, &r) == MESOFORGE_OK, "%s",
               mesoforge_last_error()->sentence);
    CHECK(mesoforge_result_array(r, 0, &phase) && strcmp(phase.name, "phase") == 0 && strcmp(phase.type, "u1") == 0);
    CHECK(phase.ndim == 2 && phase.shape[0] == N && phase.shape[1] == N && phase.stride[0] == N);
    CHECK(mesoforge_result_array(r, 1, &labels) && ((const int64_t *)labels.data)[1] == 1);
    CHECK(!mesoforge_result_array(r, 2, &labels) && strstr(mesoforge_result_json(r), "\"loss_final\""));
    CHECK_SAYS(steps.heard >= 10 && steps.share > 0.9, "%ld steps", steps.heard);
    mesoforge_result_free(r);
    steps.heard = 0;
    steps.most = 5;
    CHECK(mesoforge_match(h.session, h.field, options, &none) == MESOFORGE_STOPPED && !none);
    CHECK_SAYS(steps.heard < 15, "%ld evaluations after the fifth said stop", steps.heard - 5);
    steps.most = 0;
    CHECK(pthread_create(&thread, NULL, cancel_soon, &steps) == 0);
    CHECK(mesoforge_match(h.session, h.field,
                          "size=32,32,32 limit-to=6 max-iter=100000 tolerance=0 plan=off "
                          "descriptor-types=FFTCorrelations descriptor-types=Variation",
                          &none) == MESOFORGE_STOPPED);
    CHECK(pthread_join(thread, NULL) == 0 && !none);
    CHECK(mesoforge_match(h.session, h.field, "limit-to=6 max-iter=0", &none) == MESOFORGE_USAGE);
    CHECK(mesoforge_match(h.session, h.field, "realisations=2", &none) == MESOFORGE_USAGE);
    CHECK(mesoforge_match(h.session, h.field, "restart=auto", &none) == MESOFORGE_USAGE);
    CHECK(mesoforge_match(h.session, h.field, options, &r) == MESOFORGE_OK);
    mesoforge_result_free(r);
    mesoforge_close(h.session);
}

int main(void)
{
    draw();
    makes_a_structure();
    return failures != 0;
}
