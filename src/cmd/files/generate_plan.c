/* plan generate: what generate would do on a machine, and why; and what a published table says of it. */
#include <stdio.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/cmd/files/generate_work.h"
#include "src/cmd/plan.h"

struct plan_generate {
    struct generate generate; /* first: its rows are this verb's too */
    struct mf_plan_wish wish;
    int is_table;
};

#define ROW(word, field, kind, standard, help) MF_OPT(plan_generate, word, field, kind, standard, help)

static const struct mf_opt rows[] = {
    MF_PLAN_WISH_MACHINE(plan_generate),
    MF_CHOICE(plan_generate, "profile", is_table, "measured", "measured|table:generate",
              "measured: this planner; table:generate: the samples of a pass that a published table gives for the "
              "memory of the smallest GPU (--explain: and the table)"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_generate_rows, mf_common_opts, NULL};

static int check(const struct mf_session *session, void *options)
{
    struct plan_generate *o = options;

    MF_TRY(mf_plan_wish_check(session, &o->wish));
    return o->is_table ? MF_OK : mf_generate_check(session, &o->generate);
}

/* ---- the plan ---- */

static int plan(struct mf_session *s, struct plan_generate *o)
{
    struct generate_job job = {.session = s, .o = &o->generate};
    int rc = mf_plan_may_write(s, &o->wish, o->generate.by.model);

    mf_plan_settle_device(&o->generate.common, &o->wish);
    if (rc == MF_OK) rc = mf_generate_open(&job);
    if (rc == MF_OK)
        rc = mf_plan_verb(&(struct mf_planning){.session = s,
                                                .common = &o->generate.common,
                                                .wish = &o->wish,
                                                .workload = &mf_generate_workload,
                                                .work = &job});
    mf_generate_close(&job);
    return rc;
}

/* ---- the table ---- */

/* The guide "Device Support" of the DMD2 visualizer; most 0: there is none. */
static const struct row {
    const char *memory;
    double least; /* GiB */
    size_t from, most;
} table[] = {{"24 GB", 22, 128, 0}, {"16 GB", 14, 64, 128}, {"8 GB", 0, 32, 64}, {"cores", -1, 8, 8}};

enum { ROWS = sizeof table / sizeof *table, CORES = ROWS - 1 };

/* The row of the smallest GPU that may be used. */
static const struct row *row_of(const struct mf_hardware *hardware)
{
    double bytes = 0;
    size_t gpus = 0, r = 0;

    for (size_t h = 0; h < hardware->hosts; ++h)
        for (size_t k = 0; k < hardware->host[h].gpus; ++k) {
            const struct mf_gpu *gpu = &hardware->host[h].gpu[k];

            if (gpu->hidden) continue;
            if (gpus++ == 0 || (double)gpu->memory_bytes < bytes) bytes = (double)gpu->memory_bytes;
        }
    if (gpus == 0) return &table[CORES];
    while (bytes / (1 << 30) < table[r].least) ++r;
    return &table[r];
}

static void print_range(const struct row *r)
{
    if (r->most == 0)
        printf("%zu and more", r->from);
    else if (r->most > r->from)
        printf("%zu to %zu", r->from, r->most);
    else
        printf("%zu", r->from);
}

static int print_table(const struct mf_session *s, const struct row *r, int explain)
{
    struct mf_json *json;
    int rc;

    if (!mf_common_of(s)->json) {
        for (size_t k = 0; explain && k < ROWS; ++k) {
            printf("%-6s ", table[k].memory);
            print_range(&table[k]);
            printf("\n");
        }
        printf("samples of a pass: ");
        print_range(r);
        printf(" (%s); try: --pass-size %zu\n", r->memory, r->from);
        return MF_OK;
    }
    json = mf_json_object();
    MF_JSON(json, "profile", "table:generate", "memory", r->memory, "pass_size", r->from);
    if (r->most)
        mf_json_int(json, "most", (long long)r->most);
    else
        mf_json_null(json, "most");
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

static int plan_table(struct mf_session *s, struct plan_generate *o)
{
    struct mf_hardware hardware = {.hosts = 0};
    int rc = mf_plan_machine_of(s, &o->generate.common, &o->wish, &hardware);

    if (rc == MF_OK && s->comm->rank == 0) rc = print_table(s, row_of(&hardware), o->wish.explain);
    mf_hardware_free(&hardware);
    return mf_agree(s->comm, rc);
}

static int run(struct mf_session *s, void *options)
{
    struct plan_generate *o = options;

    return o->is_table ? plan_table(s, o) : plan(s, o);
}

const struct mf_cmd mf_cmd_plan_generate = {
    .name = "plan generate",
    .summary = "predict a run of generate: ranks, samples of a pass, memory, time, and the reasons",
    .synopsis = "--model MODEL.safetensors [--hardware FILE] [--ranks N] [--explain] [OPTION VALUE ...]",
    .text =
        "Plans a run of generate with these options: ranks, and the samples of a pass. It says the bytes of a rank, "
        "which are exact, seconds of a sample by a model (docs/PLANNER.md), and what was rejected. generate --dry-run "
        "takes the memory on this machine. If nothing fits, the exit status is 5.\n"
        "\n"
        "  mesoforge plan generate --model run/model.safetensors \\\n"
        "      --num-samples 10000 --steps 18 --explain\n"
        "  mesoforge plan generate --model run/model.safetensors \\\n"
        "      --hardware examples/hardware/l4x4.json --device cuda\n"
        "  mesoforge plan generate --profile table:generate \\\n"
        "      --hardware examples/hardware/l4x4.json\n",
    .tables = tables,
    .size = sizeof(struct plan_generate),
    .adopt = mf_generate_adopt,
    .check = check,
    .run = run,
    .work = MF_WORK_NONE,
    .in_library = 1,
};
