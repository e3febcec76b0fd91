/* mesoforge doctor: what of the machine and its software works, what does not, and what to do about it. */
#include "src/cmd/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/json.h"

struct doctor {
    struct mf_common common;
};

static const char *const states[] = {[MF_WELL] = "ok", [MF_WARNED] = "warn", [MF_FAILED] = "fail"};

/* The machine of a further node, where it differs from the first's in more than a number. */
static void join_node(const struct mf_findings *other, const char *node, struct mf_findings *to)
{
    for (size_t i = 0; i < other->count; ++i) {
        const struct mf_finding *f = &other->at[i];

        if (f->state == MF_WELL || to->count == sizeof to->at / sizeof *to->at) continue;
        mf_find(to, f->state, f->what, f->remedy, "%.170s (node %.64s)", f->text, node);
    }
}

/* What a node's first rank has found. */
struct letter {
    char node[72];
    int speaks;
    struct mf_findings findings;
};

/* Findings of all nodes into rank 0's. Collective. */
static int join(struct mf_findings *to)
{
    const struct mf_comm *comm = to->session->comm;
    struct letter *mine = calloc(1, sizeof *mine);
    size_t *offset = calloc((size_t)comm->size + 1, sizeof *offset);
    void *all = NULL;
    int rc;

    if (!mine || !offset) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for findings");
    mine->findings = *to;
    mine->speaks = comm->local_rank == 0 && comm->rank > 0;
    if (gethostname(mine->node, sizeof mine->node - 1) != 0) snprintf(mine->node, sizeof mine->node, "?");
    rc = mf_comm_gather(comm, mine, sizeof *mine, &all, offset);
    for (int r = 1; rc == MF_OK && comm->rank == 0 && r < comm->size; ++r) {
        const struct letter *letter = (const struct letter *)all + r;

        if (letter->speaks) join_node(&letter->findings, letter->node, to);
    }
    free(all);
    free(offset);
    free(mine);
    return rc;
}

static void print(const struct mf_findings *found)
{
    for (size_t i = 0; i < found->count; ++i) {
        const struct mf_finding *f = &found->at[i];

        printf("%-4s  %s: %s%s%s\n", states[f->state], f->what, f->text, f->remedy[0] ? "; try: " : "", f->remedy);
    }
}

static int print_json(const struct mf_findings *found, const size_t count[3])
{
    struct mf_json *json = mf_json_object(), *checks = mf_json_array();
    int rc;

    for (size_t i = 0; i < found->count; ++i) {
        struct mf_json *one = mf_json_object();

        mf_json_text(one, "state", states[found->at[i].state]);
        mf_json_text(one, "what", found->at[i].what);
        mf_json_text(one, "finding", found->at[i].text);
        mf_json_text(one, "remedy", found->at[i].remedy);
        mf_json_put(checks, NULL, one);
    }
    mf_json_put(json, "checks", checks);
    for (int s = MF_WELL; s <= MF_FAILED; ++s) mf_json_int(json, states[s], (long long)count[s]);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

static int report(const struct mf_findings *found)
{
    size_t count[3] = {0};

    for (size_t i = 0; i < found->count; ++i) ++count[found->at[i].state];
    if (found->session->common->json)
        MF_TRY(print_json(found, count));
    else
        print(found);
    if (count[MF_FAILED] == 0) return MF_OK;
    return mf_fail(MF_DEVICE, "%zu of %zu things that the program needs fail", count[MF_FAILED], found->count);
}

static int run(struct mf_session *session, void *options)
{
    struct mf_findings found = {.session = session};

    (void)options;
    mf_doctor_machine(&found);
    MF_TRY(join(&found));
    MF_TRY(mf_doctor_versions(&found));
    if (session->comm->rank == 0) mf_doctor_launch(&found);
    MF_TRY(mf_doctor_folder(&found));
    return mf_agree(session->comm, session->comm->rank == 0 ? report(&found) : MF_OK);
}

static const struct mf_opt *const tables[] = {mf_common_opts, NULL};

const struct mf_cmd mf_cmd_doctor = {
    .name = "doctor",
    .summary = "say what of this machine works for the program, what does not, and the remedy",
    .synopsis = "[--data_folder FOLDER] [--json]",
    .text =
        "Looks at processor, threads, memory, limits of the control group, shared memory, InfiniBand, GPUs and their "
        "libraries, whether the launcher and MPI understand each other (without a launcher: whether two ranks can "
        "be started), whether all ranks have the same libraries and the same program, the folder for results and "
        "its locks, and HDF5 (writes a small file there and removes it). One line each: ok, warn or fail, "
        "what was found and where, and what to try. Of further nodes the lines that are not ok are shown. Exit "
        "status 4 when something fails that the program needs, with --device cuda a GPU too.\n\n"
        "  mesoforge doctor --data_folder results\n"
        "  srun --mpi=pmix -N2 mesoforge doctor --json\n",
    .tables = tables,
    .size = sizeof(struct doctor),
    .run = run,
    .looks = 1,
    .examines = 1,
};
