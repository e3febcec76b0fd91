/* See train_opts.h: options that follow from others, and steps that follow from a configuration. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/learn/train_opts.h"

const char *const mf_train_small[] = {"batch-size", "4", "accumulation-steps", "1",  "max-samples",      "100",
                                      "epochs",     "1", "max-steps",          "20", "compare-replicas", "1",
                                      NULL};

/* Is an option of passes said by other words? */
static int is_said(const struct mf_options *options, const struct mf_train_cmd *o, const char *word)
{
    if (strcmp(word, "batch-size") != 0 && strcmp(word, "accumulation-steps") != 0) return 0;
    return o->common.deterministic || (word[0] == 'a' && mf_options_given(options, "effective-batch"));
}

static int shrink(struct mf_options *options, const struct mf_train_cmd *o)
{
    for (const char *const *small = mf_train_small; *small; small += 2)
        if (!mf_options_given(options, small[0]) && !is_said(options, o, small[0]))
            MF_TRY(mf_options_adopt(options, small[0], "", "--debug", small[1]));
    return MF_OK;
}

/* Is @p path the folder, or a file in it? */
static int is_in(const char *path, const char *folder)
{
    char one[PATH_MAX], two[PATH_MAX];

    if (!realpath(path, one) || !realpath(folder, two)) return 0;
    return strncmp(one, two, strlen(two)) == 0 && (one[strlen(two)] == '\0' || one[strlen(two)] == '/');
}

/* A checkpoint goes on where it is; weights begin another run. */
static int resume(struct mf_options *options, const struct mf_train_cmd *o)
{
    const char *path = o->resume;
    struct stat file;

    if (!path) return MF_OK;
    if (stat(path, &file) != 0) return mf_fail(MF_INPUT, "--resume-from-checkpoint: there is no '%.200s'", path);
    if (is_in(path, o->results_dir) && !mf_ends_with(path, ".safetensors"))
        return mf_options_adopt(options, "restart", "", "--resume-from-checkpoint", "auto");
    if (mf_ends_with(path, ".h5"))
        return mf_fail(MF_USAGE,
                       "--resume-from-checkpoint '%.200s': a checkpoint goes on in its own folder; name that by "
                       "--results-dir",
                       path);
    return mf_options_adopt(options, "model", "", "--resume-from-checkpoint", path);
}

int mf_train_adopt_given(struct mf_options *options, const struct mf_train_cmd *o)
{
    static const char *const planned[] = {"batch-size", "accumulation-steps", "zero", "recompute",
                                          "offload",    "num-workers"};

    if (o->debug) MF_TRY(shrink(options, o));
    MF_TRY(resume(options, o));
    if (strcmp(o->plan, "off") == 0) return mf_options_heed(options);
    for (size_t i = 0; i < sizeof planned / sizeof *planned; ++i) mf_options_leave(options, planned[i]);
    return MF_OK;
}

/* -- after the checks -- */

/* The samples of a step by a configuration whose passes the plan chooses. */
static void settle_step(const struct mf_session *s, struct mf_train_cmd *o)
{
    const char *batch = mf_options_wished(mf_options_of(s), "batch-size"),
               *passes = mf_options_wished(mf_options_of(s), "accumulation-steps");
    const long each = o->batch ? o->batch : batch ? strtol(batch, NULL, 10) : 0;
    const long times = o->accumulation ? o->accumulation : passes ? strtol(passes, NULL, 10) : 1;
    const struct mf_train_opts crew = {.tensor = (size_t)o->tensor,
                                       .stages = mf_train_asked_stages(o, (size_t)s->comm->size)};

    if (strcmp(o->plan, "off") == 0 || !(batch || passes) || each < 1 || times < 1) return;
    if (mf_given(s, "effective-batch") || (o->batch && o->accumulation)) return;
    o->effective = each * times * (long)mf_train_data(&crew, (size_t)s->comm->size);
    mf_info("the configuration has %ld x %ld samples of a rank: a step has %ld, and its passes are chosen; "
            "--no_auto_optimize takes them as they stand",
            times, each, o->effective);
}

static void settle_auto(const struct mf_session *s, struct mf_train_cmd *o)
{
    if (!o->auto_batch || !o->batch) return;
    if (!mf_given(s, "effective-batch")) o->effective = o->batch;
    mf_info("auto-batch-size and batch-size %ld of the configuration: a step has %ld samples, and its passes are "
            "chosen",
            o->batch, o->effective);
    o->batch = 0;
}

void mf_train_settle(const struct mf_session *s, struct mf_train_cmd *o)
{
    settle_step(s, o);
    settle_auto(s, o);
}
