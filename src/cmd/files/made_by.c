/* See made_by.h. */
#include "src/cmd/files/made_by.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"

enum { LIST = 300 };

static int is(const char *word, const char *name) { return word && strcmp(word, name) == 0; }

/* Names of networks of the other program. */
static int take_name(struct mf_made_by *by)
{
    if (is(by->model, "sdxl") || is(by->model, "sdv1.5"))
        return mf_fail(MF_USAGE, "--model %s makes images of texts, which is not here; try: --model imagenet",
                       by->model);
    if (!is(by->model, "imagenet")) return MF_OK;
    if (!by->weights)
        return mf_fail(MF_USAGE, "--model imagenet needs its weights; try: --checkpoint-path FILE.safetensors");
    if (by->arch && !is(by->arch, "adm-imagenet64"))
        return mf_fail(MF_USAGE, "--model imagenet is --arch adm-imagenet64; leave --arch out");
    by->arch = "adm-imagenet64";
    by->model = NULL;
    return MF_OK;
}

/* The one file of a pattern. @p kept has room for its name. */
static int match(const char *pattern, char kept[PATH_MAX])
{
    char list[LIST] = "";
    glob_t found;
    int rc = MF_OK;

    if (glob(pattern, 0, NULL, &found) != 0)
        return mf_fail(MF_USAGE, "--checkpoint-path '%.300s': no file matches", pattern);
    for (size_t k = 0; k < found.gl_pathc; ++k) mf_enumerate(list, LIST, "%s", found.gl_pathv[k]);
    if (found.gl_pathc > 1)
        rc = mf_fail(MF_USAGE, "--checkpoint-path '%.200s': %zu files match, and one is wanted: %s", pattern,
                     (size_t)found.gl_pathc, list);
    else
        snprintf(kept, PATH_MAX, "%s", found.gl_pathv[0]);
    globfree(&found);
    return rc;
}

int mf_made_by_find(struct mf_made_by *by)
{
    static char kept[PATH_MAX]; /* the options are those of the process */

    if (!by->weights || !strpbrk(by->weights, "*?[") || access(by->weights, F_OK) == 0) return MF_OK;
    MF_TRY(match(by->weights, kept));
    by->weights = kept;
    return MF_OK;
}

int mf_made_by_settle(struct mf_made_by *by)
{
    MF_TRY(mf_made_by_find(by));
    if (by->prompts)
        return mf_fail(MF_USAGE, "--prompt-file: no model here reads texts; leave it out, and try: --condition");
    MF_TRY(take_name(by));
    if (by->model && by->weights && strcmp(by->model, by->weights) != 0)
        return mf_fail(MF_USAGE,
                       "--model '%.200s' and --checkpoint-path '%.200s' name two models; leave one of them out",
                       by->model, by->weights);
    if (!by->model) by->model = by->weights;
    if (by->model && *by->model) return MF_OK;
    return mf_fail(MF_USAGE, "no model; try: --model FILE.safetensors, of mesoforge train unet");
}
