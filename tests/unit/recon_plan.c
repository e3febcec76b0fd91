/* Plans of reconstructions on machines that are made up here: what is chosen, bytes and seconds stay what they are. */
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/words.h"
#include "src/recon/workload.h"
#include "tests/check.h"

#define GIB ((int64_t)1 << 30)

enum { GPUS = 4 };

struct machine {
    struct mf_hardware hardware;
    struct mf_host host;
    struct mf_gpu gpu[GPUS];
    struct mf_link link[GPUS * GPUS];
};

static void machine_make(struct machine *m, int64_t nodes, int64_t cores, int64_t gib, size_t gpus)
{
    memset(m, 0, sizeof *m);
    m->host = (struct mf_host){.count = nodes,
                               .simd = "avx2",
                               .cores = cores,
                               .ram_bytes = gib * GIB,
                               .ram_available_bytes = gib * GIB * 15 / 16,
                               .numa_nodes = cores > 16 ? 2 : 1,
                               .network_rate = nodes > 1 ? 12.5 : 0,
                               .gpus = gpus,
                               .gpu = m->gpu,
                               .link = m->link};
    for (size_t g = 0; g < gpus; ++g)
        m->gpu[g] = (struct mf_gpu){.name = "GPU of 24 GB",
                                    .memory_bytes = 24 * GIB,
                                    .memory_free_bytes = 23 * GIB,
                                    .major = 8,
                                    .minor = 9,
                                    .numa_node = -1,
                                    .memory_rate = 300,
                                    .fp32_rate = 30,
                                    .host_rate = 24};
    m->hardware = (struct mf_hardware){.hosts = 1, .host = &m->host};
}

static const struct {
    const char *name;
    int64_t nodes, cores, gib;
    size_t gpus;
} machines[] = {
    {"laptop core", 1, 1, 4, 0}, {"64 cores", 1, 64, 256, 0}, {"4 GPUs", 1, 32, 128, 4}, {"2 x 4 GPUs", 2, 32, 128, 4}};

enum { LAPTOP, NODE, GPU, PAIR };

static const struct row {
    int machine;
    size_t dims[3];
    const char *method, *device;
    size_t ranks, batch, limit_mib;
    enum mf_residency residency;
    const char *want; /* the plan, or a part of the refusal */
} rows[] = {
    {LAPTOP,
     {64, 64, 64},
     "LBFGSB",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cpu, 1 on 1, 1 threads, none, batch 0: 64/64 in 1/1, history 2, 0 and 10665144 of 3388997632, 1.011e-02 = "
     "4.535e-03 + 5.571e-03 + 0.000e+00 + 0.000e+00, 1 looked at"},
    {LAPTOP,
     {1, 512, 512},
     "LBFGSB",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cpu, 1 on 1, 1 threads, none, batch 0: 1/1 in 1/1, history 2, 0 and 16815080 of 3388997632, 6.739e-03 = "
     "4.063e-03 + 2.676e-03 + 0.000e+00 + 0.000e+00, 1 looked at"},
    {LAPTOP,
     {384, 384, 384},
     "LBFGSB",
     "cpu",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cpu, 1 on 1, 1 threads, none, batch 0: 384/384 in 1/1, history 2, 0 and 2065938952 of 3388997632, 2.640e+00 = "
     "9.796e-01 + 1.661e+00 + 0.000e+00 + 0.000e+00, 1 looked at"},
    {LAPTOP,
     {472, 472, 472},
     "LBFGSB",
     "cpu",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cpu, 1 on 1, 1 threads, none, batch 0: 472/472 in 1/1, history 1, 0 and 2968238400 of 3388997632, 4.938e+00 = "
     "1.756e+00 + 3.182e+00 + 0.000e+00 + 0.000e+00, 2 looked at"},
    {LAPTOP,
     {1024, 1024, 1024},
     "LBFGSB",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "nothing fits into memory: the smallest plan (1 rank, batch 2, history 1) needs 30231878632 bytes for arrays of "
     "rank "
     "0, but 3388997632 are available"},
    {LAPTOP,
     {64, 64, 64},
     "LBFGSB",
     "cuda",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "--device cuda: no node of the machine has a GPU that may be used"},
    {LAPTOP,
     {64, 64, 64},
     "LBFGSB",
     "shadow",
     0,
     0,
     16,
     MF_RESIDE_AUTO,
     "shadow, 1 on 1, 1 threads, none, batch 0: 64/64 in 1/1, history 2, 1505816 and 10529840 of 16777216, 1.011e-02 = "
     "4.535e-03 + 5.571e-03 + 0.000e+00 + 0.000e+00, 1 looked at"},
    {NODE,
     {256, 256, 256},
     "LBFGSB",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cpu, 1 on 1, 64 threads, none, batch 0: 256/256 in 1/1, history 2, 0 and 809241672 of 252099816326, 2.484e-02 = "
     "1.451e-02 + 7.209e-03 + 0.000e+00 + 3.120e-03, 5 looked at"},
    {NODE,
     {256, 256, 256},
     "Adam",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cpu, 1 on 1, 64 threads, none, batch 0: 256/256 in 1/1, history 0, 0 and 540806216 of 252099816326, 2.358e-02 = "
     "1.325e-02 + 7.209e-03 + 0.000e+00 + 3.120e-03, 5 looked at"},
    {NODE,
     {256, 256, 256},
     "LBFGSB",
     "auto",
     6,
     0,
     0,
     MF_RESIDE_AUTO,
     "cpu, 6 on 1, 10 threads, shared memory, batch 0: 16/16 in 3/3, history 2, 0 and 155942408 of 41932749975, "
     "3.340e-02 = 1.497e-02 + 7.930e-03 + 6.921e-03 + 3.588e-03, 1 looked at"},
    {NODE,
     {256, 256, 256},
     "LBFGSB",
     "auto",
     4,
     8,
     0,
     MF_RESIDE_AUTO,
     "cpu, 4 on 1, 16 threads, shared memory, batch 8: 8/8 in 8/8, history 2, 0 and 212934728 of 62949456610, "
     "3.258e-02 = 1.451e-02 + 7.209e-03 + 6.711e-03 + 4.152e-03, 1 looked at"},
    {NODE,
     {256, 256, 256},
     "LBFGSB",
     "auto",
     4,
     0,
     205,
     MF_RESIDE_AUTO,
     "cpu, 4 on 1, 16 threads, shared memory, batch 8: 8/8 in 8/8, history 2, 0 and 212934728 of 214958080, 3.258e-02 "
     "= 1.451e-02 + 7.209e-03 + 6.711e-03 + 4.152e-03, 2 looked at"},
    {NODE,
     {256, 256, 256},
     "LBFGSB",
     "auto",
     4,
     0,
     170,
     MF_RESIDE_AUTO,
     "cpu, 4 on 1, 16 threads, shared memory, batch 4: 4/4 in 16/16, history 1, 0 and 175185992 of 178257920, "
     "3.304e-02 = 1.401e-02 + 7.209e-03 + 6.711e-03 + 5.112e-03, 4 looked at"},
    {NODE,
     {256, 256, 256},
     "LBFGSB",
     "auto",
     4,
     0,
     50,
     MF_RESIDE_AUTO,
     "nothing fits into memory: the smallest plan (4 ranks, batch 2, history 1) needs 173088840 bytes for arrays of "
     "rank "
     "0, but 52428800 are available (--memory-limit)"},
    {NODE,
     {40, 64, 64},
     "LBFGSB",
     "auto",
     24,
     0,
     0,
     MF_RESIDE_AUTO,
     "cpu, 24 on 1, 1 threads, shared memory, batch 0: 4/4 in 1/1, history 2, 0 and 940512 of 10407690022, 3.159e-03 = "
     "1.701e-04 + 1.683e-04 + 7.864e-05 + 2.742e-03, 1 looked at"},
    {GPU,
     {64, 64, 64},
     "LBFGSB",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cuda, 1 on 1, 32 threads, none, batch 0: 64/64 in 1/1, history 2, 1505816 and 24469680 of 23509577237, 4.214e-04 "
     "= 2.844e-04 + 0.000e+00 + 0.000e+00 + 1.370e-04, 8 looked at"},
    {GPU,
     {512, 512, 512},
     "LBFGSB",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cuda, 4 on 1, 8 threads, nccl, batch 0: 16/16 in 8/8, history 2, 43200920 and 1808401144 of 23509577237, "
     "5.885e-02 = 3.102e-02 + 0.000e+00 + 2.394e-02 + 3.894e-03, 8 looked at"},
    {GPU,
     {1024, 1024, 1024},
     "LBFGSB",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cuda, 4 on 1, 8 threads, nccl, batch 0: 16/16 in 16/16, history 2, 339792792 and 10702409680 of 23509577237, "
     "4.426e-01 = 2.433e-01 + 0.000e+00 + 1.915e-01 + 7.819e-03, 8 looked at"},
    {GPU,
     {1472, 1472, 1472},
     "LBFGSB",
     "cuda",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cuda, 4 on 1, 8 threads, nccl, batch 8: 8/8 in 46/46, history 1, 1005198744 and 23351511904 of 23509577237, "
     "1.422e+00 = 8.298e-01 + 0.000e+00 + 5.688e-01 + 2.341e-02, 7 looked at"},
    {GPU,
     {512, 512, 512},
     "LBFGSB",
     "cuda",
     2,
     4,
     0,
     MF_RESIDE_HOST,
     "cuda by host, 2 on 1, 16 threads, shared memory, batch 4: 4/4 in 64/64, history 2, 2466868880 and 68514360 of "
     "23509577237, 1.504e-01 = 1.003e-01 + 0.000e+00 + 5.772e-03 + 4.432e-02, 1 looked at"},
    {GPU,
     {1472, 1472, 1472},
     "LBFGSB",
     "cuda",
     0,
     0,
     0,
     MF_RESIDE_DEVICE,
     "cuda, 4 on 1, 8 threads, nccl, batch 8: 8/8 in 46/46, history 1, 1005198744 and 23351511904 of 23509577237, "
     "1.422e+00 = 8.298e-01 + 0.000e+00 + 5.688e-01 + 2.341e-02, 7 looked at"},
    {GPU,
     {512, 512, 512},
     "LBFGSB",
     "cuda",
     5,
     0,
     0,
     MF_RESIDE_AUTO,
     "--ranks 5: the machine has 4 GPUs that may be used"},
    {PAIR,
     {512, 512, 512},
     "LBFGSB",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cuda, 4 on 1, 8 threads, nccl, batch 0: 16/16 in 8/8, history 2, 43200920 and 1808401144 of 23509577237, "
     "5.885e-02 = 3.102e-02 + 0.000e+00 + 2.394e-02 + 3.894e-03, 11 looked at"},
    {PAIR,
     {512, 512, 512},
     "LBFGSB",
     "cpu",
     4,
     0,
     0,
     MF_RESIDE_AUTO,
     "cpu, 4 on 2, 16 threads, shared memory and messages, batch 0: 16/16 in 8/8, history 2, 0 and 1918485456 of "
     "62949456610, 1.380e-01 = 5.805e-02 + 6.423e-02 + 1.302e-02 + 2.748e-03, 2 looked at"},
    {PAIR,
     {1472, 1472, 1472},
     "LBFGSB",
     "auto",
     0,
     0,
     0,
     MF_RESIDE_AUTO,
     "cuda, 8 on 2, 8 threads, nccl, batch 0: 16/16 in 12/12, history 2, 506838424 and 15789525536 of 23509577237, "
     "1.634e+00 = 4.224e-01 + 0.000e+00 + 1.205e+00 + 6.198e-03, 16 looked at"},
    {PAIR,
     {1472, 1472, 1472},
     "LBFGSB",
     "auto",
     7,
     0,
     0,
     MF_RESIDE_AUTO,
     "cuda, 7 on 2, 8 threads, nccl, batch 0: 16/16 in 14/14, history 2, 582675864 and 17971274944 of 23509577237, "
     "1.731e+00 = 4.867e-01 + 0.000e+00 + 1.237e+00 + 7.168e-03, 5 looked at"},
};

static int make(const struct row *row, struct mf_plan *plan)
{
    static const char *const name[] = {"FFTCorrelations", "Variation"};
    struct mf_solve_opts opts = {.evaluations = 100, .objective = {.terms = 2, .periodic = 1}};
    const struct mf_plan_options options = {.device = row->device,
                                            .ranks = row->ranks,
                                            .stays = row->residency != MF_RESIDE_AUTO,
                                            .apart = strcmp(row->device, "shadow") == 0,
                                            .memory_limit = row->limit_mib << 20};
    struct mf_target target;
    struct mf_recon_work work = {.dims = row->dims,
                                 .target = &target,
                                 .opts = &opts,
                                 .batch = row->batch,
                                 .history = 2,
                                 .residency = row->residency};
    struct machine m;
    int rc;

    machine_make(&m, machines[row->machine].nodes, machines[row->machine].cores, machines[row->machine].gib,
                 machines[row->machine].gpus);
    for (size_t l = 0; l < MF_LEVELS_MAX; ++l) opts.objective.level_weight[l] = 1;
    for (size_t t = 0; t < 2; ++t) {
        opts.objective.term[t].weight = 1;
        CHECK(mf_descriptor_find(&opts.objective.term[t].row, name[t]) == MF_OK);
    }
    opts.method.method = mf_method_of((enum mf_method_name)mf_words_place(MF_METHOD_NAMES, row->method));
    CHECK(mf_recon_nominal_target(row->dims, 2, 16, 0, mf_descriptor_wants(opts.objective.term[1].row), &target) ==
          MF_OK);
    mf_recon_work_look(&work);
    rc = mf_plan_make(&(struct mf_plan_ask){&m.hardware, &mf_recon_workload, &work, &options, NULL}, plan);
    mf_target_free(&target);
    return rc;
}

/* Numbers that must not change, in a line. */
static void write_plan(const struct mf_plan *p, char text[400])
{
    const struct mf_plan_numbers *s = &p->settings, *d = &p->derived;
    const int image = !mf_plan_find(d, "slices_y");

    snprintf(text, 400,
             "%s%s, %zu on %zu, %zu threads, %s, batch %zu: %zu/%zu in %zu/%zu, history %zu, %zu and %zu of %zu, "
             "%.3e = %.3e + %.3e + %.3e + %.3e, %zu looked at",
             mf_plan_device(p->device, p->apart), mf_plan_get(s, "offload") ? " by host" : "", p->ranks, p->nodes,
             p->threads, p->exchange, mf_plan_get(s, "batch"), image ? 1 : mf_plan_get(d, "slices_y"),
             image ? 1 : mf_plan_get(d, "slices_x"), image ? 1 : mf_plan_get(d, "rounds_y"),
             image ? 1 : mf_plan_get(d, "rounds_x"), mf_plan_get(s, "history"), p->memory[1].arrays.total,
             p->memory[0].arrays.total, p->memory[0].room, p->cost.total, mf_plan_paid(&p->cost, "memory"),
             mf_plan_paid(&p->cost, "arithmetic"), mf_plan_paid(&p->cost, "exchange"),
             mf_plan_paid(&p->cost, "waiting"), p->candidates);
}

static void look(const struct row *row)
{
    char text[MF_ERR_TEXT];
    struct mf_plan plan;
    const int rc = make(row, &plan);

    if (rc == MF_OK)
        write_plan(&plan, text);
    else
        mf_err_take(text, sizeof text);
    if (strcmp(text, row->want) != 0) {
        ++failures;
        fprintf(stderr, "%s, %zu x %zu x %zu on %s:\n  is   %s\n  want %s\n", machines[row->machine].name, row->dims[0],
                row->dims[1], row->dims[2], row->device, text, row->want);
    }
    mf_plan_free(&plan);
}

int main(void)
{
#ifndef __x86_64__
    return 77; /* work areas of other machines have other bytes */
#endif
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) look(&rows[i]);
    return failures != 0;
}
