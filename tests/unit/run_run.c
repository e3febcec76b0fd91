/* A run holds its lock while it works, passes over an output of the same problem, keeps its checkpoints unless it ends
 * well, and touches nothing when the client refuses. */
#include "src/run/run.h"

#include "io/micro.h"
#include "src/base/err.h"
#include "tests/check.h"
#include "tests/scratch.h"

static struct mf_comm comm;

/* What the client does, and what it has done. */
struct client {
    int may, named, worked; /* calls */
    int refuse, fail, code;   /* may_write refuses; work fails with the code */
    const char *problem;
};

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

/* Saves both parts, then writes a volume of one voxel plane with the problem among its results. */
static int work(void *context, struct mf_run *run, struct mf_json **results)
{
    static const size_t dims[3] = {1, 4, 4};
    struct client *c = context;
    struct mf_micro micro = {.ndim = 2, .phases = 2, .label = {0, 1}, .spacing = {1, 1, 1}};
    struct mf_provenance from = {.command = "test", .options = "", .input_hash = ""};
    uint8_t phase[16] = {1};
    double step = 1;
    char *text;
    int rc;

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
    text = mf_json_string(*results);
    from.json = text;
    micro.slab = mf_slab_of(&comm, dims, comm.rank);
    micro.phase = phase;
    rc = mf_micro_write(&comm, run->output, &micro, &from);
    free(text);
    return rc;
}

static const struct mf_run_client calls = {may_write, name, work};

/* Runs the client; *done: it was passed over. */
static int go(struct client *c, const char *output, int restart, int *done)
{
    struct mf_run run = {.comm = &comm, .output = output, .part = "part", .parts = 2};
    struct mf_json *results = NULL;
    int rc;

    run.keeper.restart = restart;
    *c = (struct client){.refuse = c->refuse, .fail = c->fail, .code = c->code, .problem = c->problem};
    rc = mf_run_do(&run, &calls, c, &results);
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
    struct client c = {.problem = "1234"};
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
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
