/* A run holds its lock while it works. It passes over an output of the same problem, in any format. It keeps its
 * checkpoints unless it ends well. When the client refuses, it touches nothing. */
#include "src/run/run.h"

#include "io/micro.h"
#include "src/base/err.h"
#include "tests/check.h"
#include "tests/scratch.h"

static struct mf_comm comm;

/* Orders and results of the client. */
struct client {
    int may, named, worked; /* calls */
    int refuse, fail, code; /* may_write refuses; work fails with the code */
    const char *problem;
    const struct mf_run_client *calls;
};

/* An output that is no HDF5 file but the results themselves. */
static struct mf_json *results_text(const char *output)
{
    struct mf_json *results = NULL;

    CHECK(comm.rank == 0);
    if (mf_json_load(output, 1000, &results) != MF_OK) mf_err_clear();
    return results;
}

static int may_write(void *context, struct mf_run *run)
{
    struct client *c = context;

    ++c->may;
    CHECK(comm.rank != 0 || mf_lock_held(run->output));
    return c->refuse ? mf_fail(MF_OUTPUT, "not there") : MF_OK;
}

static int name(void *context, struct mf_run *run)
{
    struct client *c = context;

    ++c->named;
    snprintf(run->problem, sizeof run->problem, "%s", c->problem);
    return MF_OK;
}

static void list(void *context, struct mf_checkpoint *checkpoint) { mf_checkpoint_real(checkpoint, "step", context); }

static int write_text(struct mf_run *run, const struct mf_json *results)
{
    return mf_agree(&comm, comm.rank == 0 ? mf_json_save(results, run->output, run->output) : MF_OK);
}

/* A volume of one voxel plane. */
static int write_h5(struct mf_run *run, const struct mf_json *results)
{
    static const size_t dims[3] = {1, 4, 4};
    struct mf_micro micro = {.ndim = 2, .phases = 2, .label = {0, 1}, .spacing = {1, 1, 1}};
    struct mf_provenance from = {.command = "test", .options = "", .input_hash = ""};
    uint8_t phase[16] = {1};
    char *text = mf_json_string(results);
    int rc;

    from.json = text;
    micro.slab = mf_slab_of(&comm, dims, comm.rank);
    micro.phase = phase;
    rc = mf_micro_write(&comm, run->output, &micro, &from);
    free(text);
    return rc;
}

/* Saves both parts, then writes the output with the problem among its results. */
static int work(void *context, struct mf_run *run, struct mf_json **results)
{
    struct client *c = context;
    double step = 1;

    ++c->worked;
    for (size_t k = 0; k < run->parts; ++k) {
        struct mf_keeper_opts opts = run->keeper;
        struct mf_checkpoint *old;
        struct mf_keeper keeper;
        char *stem = mf_run_stem(run, k);

        opts.stem = stem;
        opts.every_steps = 1;
        opts.restart = 0;
        CHECK(mf_keeper_begin(&keeper, &comm, &opts, 1, &old) == MF_OK);
        CHECK(mf_keeper_step(&keeper, &comm, 1, "a: 1\n", list, &step) == MF_OK);
        free(stem);
    }
    if (c->fail) return mf_fail(c->code, "no more");
    *results = mf_json_object();
    mf_json_text(*results, "problem", run->problem);
    return c->calls->results == results_text ? write_text(run, *results) : write_h5(run, *results);
}

static const struct mf_run_client h5 = {may_write, name, mf_run_results_h5, work};
static const struct mf_run_client json = {may_write, name, results_text, work};

/* Runs the client; *done: it was passed over. */
static int go(struct client *c, const char *output, int restart, int *done)
{
    struct mf_run run = {.comm = &comm, .output = output, .part = "part", .parts = 2};
    struct mf_json *results = NULL;
    int rc;

    run.keeper.restart = restart;
    c->may = c->named = c->worked = 0;
    rc = mf_run_do(&run, c->calls, c, &results);
    *done = mf_json_to_bool(mf_json_get(results, "done_before"));
    CHECK(comm.rank != 0 || !mf_lock_held(output));
    mf_json_free(results);
    return rc;
}

/* Checkpoints of both parts. */
static int kept(const char *stem)
{
    struct mf_checkpoint_pair pair;
    char part[600];
    int n = 0;

    for (int k = 0; k < 2; ++k) {
        snprintf(part, sizeof part, k ? "%s-part%d" : "%s", stem, k);
        mf_checkpoint_look(&comm, part, 1, &pair);
        n += pair.turn[0] >= 0 || pair.turn[1] >= 0;
    }
    return n;
}

int main(int argc, char **argv)
{
    struct client c = {.problem = "1234", .calls = &h5};
    const char *stem, *output;
    int done;

    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    scratch_open(&comm);
    stem = scratch_file("v");
    output = scratch_file("v.h5");
    c.refuse = 1;
    CHECK(go(&c, output, 1, &done) == MF_OUTPUT && c.may == 1 && !c.named && !c.worked && kept(stem) == 0);
    c.refuse = 0;
    c.fail = 1;
    c.code = MF_STOPPED;
    CHECK(go(&c, output, 1, &done) == MF_STOPPED && c.worked == 1 && kept(stem) == 2);
    c.code = MF_OUTPUT;
    CHECK(go(&c, output, 1, &done) == MF_OUTPUT && strstr(mf_err_text(), "no more; the same command with --restart"));
    c.fail = 0;
    CHECK(go(&c, output, 1, &done) == MF_OK && c.worked == 1 && !done && kept(stem) == 0);
    CHECK(go(&c, output, 1, &done) == MF_OK && c.worked == 0 && c.named == 1 && done == (comm.rank == 0));
    CHECK(go(&c, output, 0, &done) == MF_OK && c.worked == 1 && !done);
    c.problem = "4321";
    CHECK(go(&c, output, 1, &done) == MF_OK && c.worked == 1 && !done);
    c.calls = &json;
    output = scratch_file("w.json");
    for (int again = 0; again < 2; ++again)
        CHECK(go(&c, output, 1, &done) == MF_OK && c.worked == !again && done == (again && comm.rank == 0));
    c.problem = "1234";
    CHECK(go(&c, output, 1, &done) == MF_OK && c.worked == 1 && !done);
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
