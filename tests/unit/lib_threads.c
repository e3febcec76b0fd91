/* Sessions of several threads each have their own numbers. Two threads in one session: one is refused. A cancel meets
 * its call. usage: lib_threads [SECONDS]. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "tests/unit/lib_host.h"

enum { THREADS = 8 };

static time_t end;
static mesoforge_session *shared;
static atomic_long rounds, refused, stopped;

static int go_on(void *context, const char *what, double share)
{
    long *steps = context;

    (void)what;
    (void)share;
    return ++*steps % 7 != 0;
}

/* A whole life of a session, and a match that a callback stops now and then. */
static void live(const mesoforge_result *want)
{
    long steps = 0;
    struct host h = start(NULL);
    mesoforge_result *r = measure(&h, "limit-to=5"), *made = NULL;
    int code;

    CHECK(r && same_arrays(r, want));
    mesoforge_result_free(r);
    CHECK(mesoforge_on_progress(h.session, go_on, &steps) == MESOFORGE_OK);
    code = mesoforge_match(h.session, h.field, "limit-to=4 max_iter=6 plan=off", &made);
    CHECK(code == MESOFORGE_OK || code == MESOFORGE_STOPPED);
    stopped += code == MESOFORGE_STOPPED;
    mesoforge_result_free(made);
    CHECK(mesoforge_close(h.session) == MESOFORGE_OK);
}

static void *work(void *context)
{
    do {
        size_t first, count;

        live(context);
        refused += mesoforge_slab(shared, 8, &first, &count) == MESOFORGE_USAGE;
        CHECK(mesoforge_cancel(shared) == MESOFORGE_OK);
        ++rounds;
    } while (time(NULL) < end);
    return NULL;
}

int main(int argc, char **argv)
{
    struct host h = (draw(), start(NULL));
    mesoforge_result *want = measure(&h, "limit-to=5");
    pthread_t thread[THREADS];

    shared = h.session;
    end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
    for (int i = 0; i < THREADS; ++i) CHECK(pthread_create(&thread[i], NULL, work, want) == 0);
    for (int i = 0; i < THREADS; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
    CHECK(rounds >= THREADS);
    if (argc > 1) printf("%ld rounds, %ld refusals of a shared session, %ld stops\n", rounds, refused, stopped);
    mesoforge_result_free(want);
    CHECK(mesoforge_close(shared) == MESOFORGE_OK);
    return failures != 0;
}
