/* Characterize and match on a session that was opened from values: no verb, no option, no file. */
#include <string.h>

#include "io/lent.h"
#include "src/base/err.h"
#include "src/recon/characterization.h"
#include "src/recon/match.h"
#include "tests/check.h"

enum { EDGE = 24 };

static const char *const input[] = {"@image"}, *const types[] = {"FFTCorrelations", "Variation"};
static uint8_t image[EDGE][EDGE];
static int64_t ones;

static const struct mf_match plain = {.seed = 3,
                                      .files = {1, input},
                                      .types = {2, types},
                                      .lag = 16,
                                      .learning_rate = 0.01,
                                      .initial_temperature = 1e-4,
                                      .cooldown_factor = 0.9,
                                      .max_iter = 20,
                                      .history = 2,
                                      .convergence_steps = 10,
                                      .candidates = 1,
                                      .soft = 0.75,
                                      .steepness = 10};

static void draw(void)
{
    for (int y = 0; y < EDGE; ++y)
        for (int x = 0; x < EDGE; ++x) {
            image[y][x] = (y - 11) * (y - 11) + (x - 9) * (x - 9) < 40 || (y > 18 && x > 14);
            ones += image[y][x];
        }
}

static double fraction(const struct mf_target *target)
{
    return target->side[0].fraction[target->side[0].levels] * EDGE * EDGE;
}

static void characterizes(struct mf_session *session)
{
    struct mf_characterization c = {
        .lag = 8, .steepness = 10, .soft = 0.75, .periodic = 1, .multiphase = 1, .pyramid = 1};
    struct mf_characterized made = {0};

    CHECK(mf_characterize_prepare(session, &c) == MF_OK && !c.vgg);
    CHECK(mf_characterize_file(session, &c, input[0], NULL, &made) == MF_OK && made.ndim == 2);
    CHECK_NEAR(fraction(&made.target), (double)ones, 1e-6);
    CHECK(made.target.lag == 8 && !made.measures);
    mf_characterized_free(&made);
}

/* Structures of an image stand on one rank. */
static void matches(struct mf_session *session, const struct mf_match *values, size_t lag)
{
    struct mf_match match = *values;
    struct mf_target target = {0};
    struct mf_solve_result result = {0};
    struct mf_solve_opts opts;
    size_t of[3], dims[3];
    int64_t count = 0;

    CHECK(mf_recon_check(&match) == MF_OK);
    CHECK(mf_recon_measure(session, &match, &target, &of) == MF_OK && target.lag == lag && of[0] == 0);
    CHECK(mf_recon_extents(&match, &target, NULL, dims) == MF_OK && dims[0] == 1 && dims[1] == EDGE);
    CHECK(mf_recon_solve_opts(&match, &target, dims, &opts) == MF_OK && opts.seed == 3 && opts.evaluations == 20);
    CHECK(mf_reside_solve(session, match.residency, dims, &target, 0, &opts, &result) == MF_OK);
    for (size_t i = 0; result.label && session->comm->rank == 0 && i < (size_t)EDGE * EDGE; ++i)
        count += result.label[i];
    mf_comm_sum_int(session->comm, 1, &count);
    CHECK_SAYS(count == ones, "%lld voxels of phase 1, not %lld", (long long)count, (long long)ones);
    CHECK(result.loss_final < result.convergence[2]);
    mf_solve_free(&result);
    mf_target_free(&target);
}

/* A lag that was not given becomes half of the edge. */
static void heeds_given(struct mf_session *session)
{
    struct mf_match match = plain;

    matches(session, &match, EDGE / 2);
    match.lag = 8;
    match.given.lag = 1;
    matches(session, &match, 8);
    match.history = 0;
    CHECK(mf_recon_check(&match) == MF_USAGE && strstr(mf_err_text(), "--history is 0"));
    mf_err_clear();
}

int main(int argc, char **argv)
{
    const struct mf_lent lent = {.name = input[0],
                                 .values = image,
                                 .kind = 'u',
                                 .size = 1,
                                 .ndim = 2,
                                 .shape = {EDGE, EDGE},
                                 .stride = {EDGE, 1}};
    struct mf_comm comm;
    struct mf_session session = {.comm = &comm,
                                 .settings = {.device = "cpu", .threads = 1, .gpu_fraction = 1, .level = MF_QUIET}};

    draw();
    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    mf_lend(&lent);
    CHECK(mf_session_begin(&session) == MF_OK && mf_session_open(&session) == MF_OK);
    characterizes(&session);
    heeds_given(&session);
    mf_session_close(&session);
    mf_lend(NULL);
    mf_comm_close(&comm);
    return failures != 0;
}
