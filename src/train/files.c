/* See loop.h: what a training leaves beside its model. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/train/loop.h"

char *mf_loop_picture(const char *output, const char *picture)
{
    const char *base = mf_name_base(output), *end = strrchr(base, '.');
    const int folder = (int)(base - output), stem = (int)((end ? end : strchr(base, 0)) - base);

    if (strncmp(base, "model.", 6) == 0) return mf_format("%.*s%s", folder, output, picture);
    return mf_format("%.*s.%s", folder + stem, output, picture);
}

/* -- what an earlier run left -- */

/* Is a name @p before, digits, @p after? */
static int is_number(const char *name, const char *before, const char *after)
{
    const size_t n = strlen(before);
    size_t digits;

    if (strncmp(name, before, n) != 0) return 0;
    digits = strspn(name + n, "0123456789");
    return digits > 0 && strcmp(name + n + digits, after) == 0;
}

/* Pictures, and the numbers behind them. */
static int is_picture(const char *name, const char *output)
{
    static const char *const pictures[] = {
        "training.png",           "training_metrics.png",   "confusion.png",           "predicted.png",
        "knowledge_graph.json",   "expert_activations.png", "expert_activations.json", "expert_device_distribution.png",
        "performance_summary.txt"};
    char *path = mf_loop_picture(output, "knowledge_graph_epoch_");
    int is = is_number(name, mf_name_base(path), ".png");

    free(path);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; ++i) {
        path = mf_loop_picture(output, pictures[i]);
        is = is || strcmp(mf_name_base(path), name) == 0;
        free(path);
    }
    return is;
}

static int is_table(const char *name, const char *metrics)
{
    const char *base = mf_name_base(metrics);
    const size_t stem = strlen(base) - strlen(".jsonl");

    static const char *const kinds[] = {"-step.csv", "-epoch.csv", "-change.csv", "-host.csv"};

    if (strncmp(name, base, stem) != 0) return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (strcmp(name + stem, kinds[i]) == 0) return 1;
    return is_number(name + stem, "-gpu", ".csv");
}

/* The number of the file of an epoch's weights; 0: it is none. */
static size_t epoch_of(const struct mf_loop *loop, const char *name)
{
    const char *base = mf_name_base(loop->run->output);
    char *before = mf_format("%.*s_epoch", (int)(strlen(base) - strlen(".safetensors")), base);
    const size_t number = is_number(name, before, ".safetensors") ? strtoul(name + strlen(before), NULL, 10) : 0;

    free(before);
    return number;
}

static int is_last(const struct mf_loop *loop, const char *name)
{
    return strcmp(name, mf_name_base(loop->run->last)) == 0;
}

/* May a file with the name of one of ours be replaced? MF_OUTPUT: it is of another program. */
static int may(const struct mf_loop *loop, const char *name)
{
    const char *output = loop->run->output;
    char *path = mf_format("%.*s%s", (int)(mf_name_base(output) - output), output, name);
    int rc = MF_OK;

    if (is_last(loop, name))
        rc = mf_checkpoint_may(path);
    else if (is_table(name, loop->run->metrics))
        rc = mf_metrics_table_may(path);
    else if (epoch_of(loop, name) && !mf_loop_has_card(path))
        rc = mf_fail(MF_OUTPUT,
                     "'%s' is not of this program, and this training would replace it; try: another --results-dir, or "
                     "no --keep-last",
                     path);
    free(path);
    return rc;
}

static int is_left(const struct mf_loop *loop, const char *name, int had_model, int had_metrics)
{
    const struct mf_metrics *m = &loop->metrics;

    if ((had_model || (had_metrics && !m->own)) && (is_picture(name, loop->run->output) || is_last(loop, name)))
        return 1;
    if (epoch_of(loop, name)) return had_model || had_metrics;
    if (is_table(name, m->path)) return 1;
    return had_metrics && !m->own && strncmp(name, "events.out.tfevents.", 20) == 0;
}

/* Does this training write a file of this name? */
static int writes(const struct mf_loop *loop, const char *name)
{
    const size_t epoch = epoch_of(loop, name), each = mf_trainer_epoch(loop->trainer);

    if (epoch) return loop->keep > 0 && (epoch - 1) * each < loop->trainer->opts.schedule.steps;
    return is_last(loop, name) || ((loop->forms & MF_METRICS_CSV) && is_table(name, loop->run->metrics));
}

/* Is it the file of the weights at the start? */
static int is_start(const struct mf_loop *loop, int folder, const char *name)
{
    struct stat start, is;

    return loop->start && stat(loop->start, &start) == 0 && fstatat(folder, name, &is, 0) == 0 &&
           start.st_dev == is.st_dev && start.st_ino == is.st_ino;
}

static DIR *open_folder(const char *output)
{
    char *path = mf_format("%.*s.", (int)(mf_name_base(output) - output), output);
    DIR *folder = opendir(path);

    free(path);
    return folder;
}

int mf_loop_spares_others(const struct mf_loop *loop)
{
    DIR *folder = open_folder(loop->run->output);
    int rc = MF_OK;

    for (struct dirent *one; folder && rc == MF_OK && (one = readdir(folder));)
        if (writes(loop, one->d_name)) rc = may(loop, one->d_name);
    if (folder) closedir(folder);
    return rc;
}

/* An earlier run's, and not only by its name. */
static int goes(const struct mf_loop *loop, const char *name, int had_model, int had_metrics)
{
    const int is_ours = is_left(loop, name, had_model, had_metrics) && may(loop, name) == MF_OK;

    mf_err_clear();
    return is_ours;
}

void mf_loop_clear(const struct mf_loop *loop, int had_metrics)
{
    const int had_model = access(loop->run->output, F_OK) == 0;
    DIR *folder = open_folder(loop->run->output);

    for (struct dirent *one; folder && (one = readdir(folder));)
        if (goes(loop, one->d_name, had_model, had_metrics) && !is_start(loop, dirfd(folder), one->d_name))
            unlinkat(dirfd(folder), one->d_name, 0);
    if (folder) closedir(folder);
}
