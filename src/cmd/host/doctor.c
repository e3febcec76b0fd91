/* mesoforge doctor: finds what works on the machine and in its software, what does not, and the remedy. */
#include "src/cmd/host/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/json.h"

struct doctor {
    struct mf_common common;
};

enum { WHERE = 200 }; /* of mf_find_where() */

static const char *const states[] = {[MF_WELL] = "ok", [MF_WARNED] = "warn", [MF_FAILED] = "fail"};

/* Lists the bad findings of a node, with its name; heap. */
static struct mf_finding *complaints(const struct mf_findings *of, const char *node, size_t *count)
{
    struct mf_finding *some = MF_MUST(calloc(of->count + 1, sizeof *some), "findings");

    *count = 0;
    for (size_t i = 0; i < of->count; ++i) {
        struct mf_finding *one = &some[*count];

        if (of->at[i].state == MF_WELL) continue;
        *one = of->at[i];
        one->on = 1;
        snprintf(one->nodes, sizeof one->nodes, "%.64s", node);
        ++*count;
    }
    return some;
}

/* Findings of all nodes, of which the first rank speaks, into rank 0's. Collective. */
static int join(struct mf_findings *to)
{
    const struct mf_comm *comm = to->session->comm;
    size_t *offset = MF_MUST(calloc((size_t)comm->size + 1, sizeof *offset), "findings"), count;
    struct mf_finding *mine;
    char node[72] = "";
    void *all = NULL;
    int rc;

    if (gethostname(node, sizeof node - 1) != 0) snprintf(node, sizeof node, "?");
    mine = complaints(to, node, &count);
    if (comm->local_rank > 0 || comm->rank == 0) count = 0;
    rc = mf_comm_gather(comm, mine, count * sizeof *mine, &all, offset);
    for (size_t i = 0; rc == MF_OK && comm->rank == 0 && i < offset[comm->size] / sizeof *mine; ++i)
        mf_find_join(to, node, (const struct mf_finding *)all + i);
    free(all);
    free(offset);
    free(mine);
    return rc;
}

static void print(const struct mf_findings *found)
{
    for (size_t i = 0; i < found->count; ++i) {
        const struct mf_finding *f = &found->at[i];
        char where[WHERE];

        mf_find_where(f, where, sizeof where);
        printf("%-4s  %s: %s%s%s%s\n", states[f->state], f->what, f->text, where, f->remedy[0] ? "; try: " : "",
               f->remedy);
    }
}

static int print_json(const struct mf_findings *found, const size_t count[3])
{
    struct mf_json *json = mf_json_object(), *checks = mf_json_array();
    int rc;

    for (size_t i = 0; i < found->count; ++i) {
        const struct mf_finding *f = &found->at[i];
        struct mf_json *one = mf_json_object();
        char finding[sizeof f->text + WHERE];

        mf_find_where(f, finding + snprintf(finding, sizeof f->text, "%s", f->text), WHERE);
        MF_JSON(one, "state", states[f->state], "what", f->what, "finding", finding, "remedy", f->remedy);
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
    if (mf_common_of(found->session)->json)
        MF_TRY(print_json(found, count));
    else
        print(found);
    if (count[MF_FAILED] == 0) return MF_OK;
    return mf_fail(MF_DEVICE, "%zu of %zu things that the program needs fail", count[MF_FAILED], found->count);
}

static int look(struct mf_findings *found)
{
    const struct mf_comm *comm = found->session->comm;

    mf_doctor_machine(found);
    MF_TRY(join(found));
    MF_TRY(mf_doctor_versions(found));
    if (comm->rank == 0) mf_doctor_launch(found);
    MF_TRY(mf_doctor_folder(found));
    return mf_agree(comm, comm->rank == 0 ? report(found) : MF_OK);
}

static int run(struct mf_session *session, void *options)
{
    struct mf_findings found = {.session = session};
    int rc;

    (void)options;
    rc = look(&found);
    free(found.at);
    return rc;
}

static const struct mf_opt *const tables[] = {mf_common_opts, NULL};

const struct mf_cmd mf_cmd_doctor = {
    .name = "doctor",
    .summary = "check what works on this machine, what does not, and name the remedy",
    .synopsis = "[--data_folder FOLDER] [--json]",
    .text = "Looks at processor, threads, memory, limits of the control group and of open files, shared memory, "
            "InfiniBand, GPUs and their libraries, whether the launcher and MPI understand each other (without a "
            "launcher: whether two ranks can be started), whether all ranks have the same libraries and the same "
            "program, the folder for results and its locks, and HDF5 (writes a small file there and removes it). One "
            "line for each: ok, warn or fail, what was found and where, and what to try. Of further nodes the lines "
            "that are not ok are shown, once where several have them. Exit status 4 when something fails that the "
            "program needs, with --device cuda a GPU too.\n"
            "\n"
            "  mesoforge doctor --data_folder results\n"
            "  srun --mpi=pmix -N2 mesoforge doctor --json\n",
    .tables = tables,
    .size = sizeof(struct doctor),
    .run = run,
    .work = MF_WORK_NONE,
    .diagnoses = 1,
};
