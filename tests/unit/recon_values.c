/* Characterize and match on a session that was opened from values: no verb, no option, no file. */
#include <string.h>

#include "io/lent.h"
#include "src/base/err.h"
#include "src/recon/characterization.h"
#include "src/recon/match.h"
#include "tests/check.h"

enum { EDGE = 16 };

static const char *const input[] = {"@image"}, *const types[] = {"FFTCorrelations", "Variation"};
static uint8_t image[EDGE][EDGE];
static int64_t ones;

/* The image is @p edge voxels of a volume high; 0: the result is an image. */
static struct mf_match plain(long edge)
{
    struct mf_match match = mf_match_defaults();

    match.seed = 3;
    match.files = (struct mf_texts){1, input};
    match.types = (struct mf_texts){2, types};
    match.max_iter = 20;
    match.add_dimension = edge;
    match.given.add_dimension = edge > 0;
    return match;
}

static void draw(void)
{
    for (int y = 0; y < EDGE; ++y)
        for (int x = 0; x < EDGE; ++x) {
            image[y][x] = (y - 7) * (y - 7) + (x - 6) * (x - 6) < 20 || (y > 12 && x > 9);
            ones += image[y][x];
        }
}

static double fraction(const struct mf_target *target)
{
    return target->side[0].fraction[target->side[0].levels] * EDGE * EDGE;
}

static void characterizes(struct mf_session *session)
{
    struct mf_characterization c = mf_characterization_defaults();
    struct mf_characterized made = {0};

    c.lag = 5;
    CHECK(mf_characterize_prepare(session, &c) == MF_OK && !c.vgg);
    CHECK(mf_characterize_file(session, &c, input[0], NULL, &made) == MF_OK && made.ndim == 2);
    CHECK_NEAR(fraction(&made.target), (double)ones, 1e-6);
    CHECK(made.target.lag == 5 && !made.measures);
    mf_characterized_free(&made);
}

/* On all ranks. */
static int64_t count_ones(const struct mf_comm *comm, const struct mf_solve_result *result, size_t voxels)
{
    int64_t count = 0;

    for (size_t i = 0; result->label && i < voxels; ++i) count += result->label[i];
    mf_comm_sum_int(comm, 1, &count);
    return count;
}

static void matches(struct mf_session *session, struct mf_match match, size_t height, size_t lag)
{
    struct mf_match_run run = {0};
    struct mf_target target = {0};
    struct mf_solve_result result = {0};
    struct mf_solve_opts opts;
    struct mf_slab slab;
    size_t of[3], dims[3];

    CHECK(mf_recon_check(&match) == MF_OK);
    CHECK(mf_recon_measure(session, &match, &run, &target, &of) == MF_OK && target.lag == lag && of[0] == 0);
    CHECK(mf_recon_extents(&match, &target, NULL, dims) == MF_OK && dims[0] == height && dims[1] == EDGE);
    CHECK(mf_recon_solve_opts(&match, &run, &target, dims, &opts) == MF_OK && opts.seed == 3 && opts.evaluations == 20);
    CHECK(mf_reside_solve(session, match.residency, dims, &target, 0, &opts, &result) == MF_OK);
    slab = mf_slab_of(session->comm, dims, session->comm->rank);
    CHECK(count_ones(session->comm, &result, mf_slab_voxels(&slab)) == ones * (int64_t)height);
    CHECK(result.loss_final < result.convergence[2]);
    mf_solve_free(&result);
    mf_target_free(&target);
}

/* A lag that was not given becomes half of the edge. */
static void heeds_given(struct mf_session *session)
{
    struct mf_match match = plain(0);

    matches(session, match, 1, EDGE / 2);
    matches(session, plain(EDGE), EDGE, EDGE / 2);
    match.lag = 6;
    match.given.lag = 1;
    matches(session, match, 1, 6);
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
