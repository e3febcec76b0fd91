/* See table.h. */
#include "src/train/table.h"

enum { STEP = 256, READERS = 3 }; /* samples of a step; readers of a GPU */

static const struct row {
    const char *memory;
    double least; /* GiB */
    size_t batch;
} rows[] = {
    {"≥20 GB (L4, A10)", 20, 16}, {"14-20 GB (T4)", 14, 12}, {"10-14 GB", 10, 8}, {"6-10 GB", 6, 4}, {"<6 GB", 0, 2}};

enum { ROWS = sizeof rows / sizeof *rows };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

static size_t passes_of(size_t batch, size_t gpus) { return most(1, STEP / (batch * gpus)); }

static size_t batch_of(double bytes)
{
    size_t r = 0;

    while (r + 1 < ROWS && bytes / (1 << 30) < rows[r].least) ++r;
    return rows[r].batch;
}

/* GPUs that may be used, at most @p ranks, and their bytes; are all new enough for 16 bits? */
static void look(const struct mf_hardware *hardware, size_t ranks, struct mf_train_table *t)
{
    for (size_t h = 0; h < hardware->hosts; ++h)
        for (size_t k = 0; k < (size_t)hardware->host[h].count * hardware->host[h].gpus; ++k) {
            const struct mf_gpu *gpu = &hardware->host[h].gpu[k % hardware->host[h].gpus];

            if (gpu->hidden || (ranks && t->gpus == ranks)) continue;
            if (t->gpus == 0 || (double)gpu->memory_bytes < t->least) t->least = (double)gpu->memory_bytes;
            t->memory += (double)gpu->memory_bytes;
            t->half = (t->gpus == 0 || t->half) && gpu->major >= 7;
            ++t->gpus;
        }
}

void mf_train_table_of(const struct mf_hardware *hardware, size_t ranks, struct mf_train_table *t)
{
    const size_t cores = (size_t)hardware->host[0].cores;

    *t = (struct mf_train_table){.again = 1};
    look(hardware, ranks, t);
    t->batch = t->gpus ? batch_of(t->least) : 4;
    t->passes = t->gpus ? passes_of(t->batch, t->gpus) : 8;
    t->effective = t->batch * t->passes * most(1, t->gpus);
    t->readers = t->gpus ? least(READERS * t->gpus, cores > 3 ? cores - 2 : 1) : least(4, cores);
    t->zero = t->gpus > 1 ? 2 : 0;
}

static const char *truth(int value) { return value ? "true" : "false"; }

void mf_train_table_print(FILE *to, const struct mf_train_table *t)
{
    fprintf(to, "training:\n  batch_size_per_gpu: %zu\n  gradient_accumulation_steps: %zu\n", t->batch, t->passes);
    fprintf(to, "  # Effective batch: %zu * %zu * %zu = %zu\n", t->batch, t->passes, most(1, t->gpus), t->effective);
    fprintf(to, "  fp16: %s\n  gradient_checkpointing: %s\n  dataloader_num_workers: %zu", truth(t->half),
            truth(t->again), t->readers);
    if (t->readers == READERS * t->gpus) fprintf(to, "  # %d per GPU", READERS);
    fprintf(to, "\n\ndeepspeed:\n  enabled: %s\n  stage: %d\n", truth(t->zero > 0), t->zero);
}

void mf_train_table_report(FILE *to, const struct mf_train_table *t)
{
    const double gib = 1 << 30;

    fprintf(to, "  GPUs                    %zu\n  GPU memory              %.1f GiB, of the smallest %.1f GiB\n",
            t->gpus, t->memory / gib, t->least / gib);
    fprintf(to, "  batch size of a GPU     %zu\n  gradient accumulation   %zu\n  effective batch size    %zu\n",
            t->batch, t->passes, t->effective);
    fprintf(to, "  readers                 %zu\n  mixed precision (fp16)  %s\n  gradient checkpointing  %s\n",
            t->readers, t->half ? "on" : "off", t->again ? "on" : "off");
    fprintf(to, "  ZeRO stage              %d\n", t->zero);
}

void mf_train_table_rows(FILE *to, size_t gpus)
{
    const size_t n = most(1, gpus);

    fprintf(to, "| GPU Memory | Batch Size | Gradient Accum | Effective Batch |\n"
                "|------------|------------|----------------|-----------------|\n");
    for (size_t r = 0; r < ROWS; ++r)
        fprintf(to, "| %s | %zu | %zu | %zu (%zu GPUs) |\n", rows[r].memory, rows[r].batch, passes_of(rows[r].batch, n),
                rows[r].batch * passes_of(rows[r].batch, n) * n, n);
    fprintf(to, "\n");
}

struct mf_json *mf_train_table_json(const struct mf_train_table *t)
{
    struct mf_json *j = mf_json_object();

    MF_JSON(j, "profile", "table:train", "gpus", t->gpus, "batch_size_per_gpu", t->batch, "gradient_accumulation_steps",
            t->passes, "effective_batch", t->effective, "dataloader_num_workers", t->readers, "zero", t->zero);
    mf_json_bool(j, "fp16", t->half);
    mf_json_bool(j, "gradient_checkpointing", t->again);
    return j;
}
