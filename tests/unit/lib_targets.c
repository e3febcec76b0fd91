/* Targets of the library: lent, saved, loaded, averaged; and structures that are made and saved. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/lib_host.h"

static const char match[] = "size=16,16 max-iter=8 seed=3 plan=off descriptor-types=FFTCorrelations "
                            "descriptor-types=Variation";

static struct host open_trusting(void)
{
    const struct mesoforge_array plain = of(image, "u1", N, 1);
    struct host h = {NULL, NULL};

    CHECK(mesoforge_open(&h.session, "threads=1 trust-files") == MESOFORGE_OK);
    CHECK(mesoforge_field_array(h.session, "image", &plain, &h.field) == MESOFORGE_OK);
    return h;
}

static mesoforge_result *run(const struct host *h, const char *verb, const char *inputs, const char *options)
{
    mesoforge_result *r = NULL;

    CHECK_SAYS(mesoforge_run(h->session, verb, inputs, options, &r) == MESOFORGE_OK, "%s %s: %s; %s", verb, options,
               mesoforge_last_error()->sentence, mesoforge_last_error()->advice);
    return r;
}

static int same_phase(const mesoforge_result *a, const mesoforge_result *b)
{
    struct mesoforge_array one = {0}, other = {0};

    if (!mesoforge_result_array(a, 0, &one) || !mesoforge_result_array(b, 0, &other)) return 0;
    return one.ndim == other.ndim && one.shape[0] == other.shape[0] && one.shape[1] == other.shape[1] &&
           memcmp(one.data, other.data, one.shape[0] * one.shape[1]) == 0;
}

static void name(char path[64], const char *ending)
{
    (void)snprintf(path, 64, "lib_targets_%d.%s", (int)getpid(), ending);
}

/* A structure from a lent target is that of match, and that from the target's file. */
static void lends(void)
{
    struct host h = open_trusting();
    mesoforge_result *goal = measure(&h, "limit-to=6"), *again = NULL, *direct, *lent, *filed;
    mesoforge_field *field = NULL;
    char path[64], options[512];

    CHECK(mesoforge_field_target(h.session, "goal", goal, &field) == MESOFORGE_OK);
    (void)snprintf(options, sizeof options, "%s limit-to=6", match);
    direct = run(&h, "match", "@image", options);
    lent = run(&h, "reconstruct", "@goal", match);
    CHECK(same_phase(direct, lent));
    name(path, "h5");
    CHECK(mesoforge_result_save(h.session, goal, path) == MESOFORGE_OK);
    filed = run(&h, "reconstruct", path, match);
    CHECK(same_phase(lent, filed));
    CHECK_SAYS(mesoforge_target_load(h.session, path, &again) == MESOFORGE_OK, "%s", mesoforge_last_error()->sentence);
    CHECK(same_arrays(goal, again) && strstr(mesoforge_result_json(again), "\"shape\":[40,40]"));
    CHECK(remove(path) == 0);
    mesoforge_result_free(run(&h, "compare", "@goal @image", "limit-to=6"));
    mesoforge_result_free(direct);
    mesoforge_result_free(lent);
    mesoforge_result_free(filed);
    mesoforge_result_free(again);
    CHECK(mesoforge_field_free(h.session, field) == MESOFORGE_OK);
    mesoforge_result_free(goal);
    mesoforge_close(h.session);
}

static double first_of(const mesoforge_result *r)
{
    struct mesoforge_array a = {0};

    CHECK(mesoforge_result_array(r, 0, &a));
    return *(const double *)a.data;
}

static void averages(void)
{
    static uint8_t other[N][N];
    const struct mesoforge_array array = of(other, "u1", N, 1);
    struct host h = start(NULL);
    mesoforge_field *field = NULL;
    mesoforge_result *one = measure(&h, "limit-to=4"), *two = NULL, *mean = NULL, *none = NULL;
    const double weights[] = {0.25, 0.75}, wrong[] = {0.5, 0.4};
    const mesoforge_result *both[2];

    for (int y = 0; y < N; ++y)
        for (int x = 0; x < N; ++x) other[y][x] = (x + y) % 3 == 0;
    CHECK(mesoforge_field_array(h.session, "other", &array, &field) == MESOFORGE_OK);
    CHECK(mesoforge_characterize(h.session, field, "limit-to=4", &two) == MESOFORGE_OK);
    both[0] = one;
    both[1] = two;
    CHECK(mesoforge_target_mean(h.session, both, weights, 2, &mean) == MESOFORGE_OK);
    CHECK(fabs(first_of(mean) - 0.25 * first_of(one) - 0.75 * first_of(two)) < 1e-15);
    mesoforge_result_free(mean);
    CHECK(mesoforge_target_mean(h.session, both, NULL, 2, &mean) == MESOFORGE_OK);
    CHECK(fabs(first_of(mean) - 0.5 * (first_of(one) + first_of(two))) < 1e-15);
    CHECK(mesoforge_target_mean(h.session, both, wrong, 2, &none) == MESOFORGE_USAGE && !none);
    mesoforge_result_free(two);
    CHECK(mesoforge_characterize(h.session, field, "limit-to=5", &two) == MESOFORGE_OK);
    both[1] = two;
    CHECK(mesoforge_target_mean(h.session, both, NULL, 2, &none) == MESOFORGE_INPUT);
    CHECK(strstr(mesoforge_last_error()->sentence, "lags differ"));
    CHECK(mesoforge_target_mean(h.session, both, NULL, 0, &none) == MESOFORGE_USAGE);
    mesoforge_result_free(one);
    mesoforge_result_free(two);
    mesoforge_result_free(mean);
    mesoforge_close(h.session);
}

/* A structure of synth, saved, is what the verb reads again. */
static void saves(void)
{
    struct host h = open_trusting();
    mesoforge_result *r = run(&h, "synth", NULL, "size=12,20 seed=5 kind=spheres radius=3"), *probe;
    struct mesoforge_array phase = {0};
    static const char *const endings[] = {"npy", "h5", "png", "tif"};
    mesoforge_field *none = NULL;
    char path[64];

    CHECK(mesoforge_result_array(r, 0, &phase) && phase.ndim == 2 && phase.shape[0] == 12 && phase.shape[1] == 20);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i) {
        mesoforge_result *info;

        name(path, endings[i]);
        CHECK_SAYS(mesoforge_result_save(h.session, r, path) == MESOFORGE_OK, "%s", mesoforge_last_error()->sentence);
        info = run(&h, "info", path, NULL);
        CHECK(strstr(mesoforge_result_json(info), "\"shape\":[12,20]"));
        mesoforge_result_free(info);
        CHECK(remove(path) == 0);
    }
    name(path, "xdmf"); /* beside the .h5 */
    CHECK(remove(path) == 0);
    CHECK(mesoforge_result_save(h.session, r, "x.jpg") == MESOFORGE_USAGE);
    CHECK(mesoforge_result_save(h.session, r, NULL) == MESOFORGE_USAGE);
    CHECK(mesoforge_result_save(h.session, NULL, path) == MESOFORGE_USAGE);
    probe = run(&h, "probe", NULL, NULL);
    CHECK(mesoforge_field_target(h.session, "goal", probe, &none) == MESOFORGE_USAGE && !none);
    CHECK(mesoforge_result_save(h.session, probe, "x.json") == MESOFORGE_USAGE);
    mesoforge_result_free(r);
    CHECK(mesoforge_target_load(h.session, "none.h5", &r) == MESOFORGE_INPUT && !r);
    mesoforge_result_free(probe);
    mesoforge_close(h.session);
}

int main(void)
{
    draw();
    lends();
    averages();
    saves();
    return failures != 0;
}
