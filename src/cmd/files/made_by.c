/* See made_by.h. */
#include "src/cmd/files/made_by.h"

#include <string.h>

#include "src/base/err.h"

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

int mf_made_by_settle(struct mf_made_by *by)
{
    if (by->prompts)
        return mf_fail(MF_USAGE, "--prompt-file: no model here reads texts; leave it out, and try: --condition");
    MF_TRY(take_name(by));
    if (by->model && by->weights && strcmp(by->model, by->weights) != 0)
        return mf_fail(MF_USAGE,
                       "--model '%.200s' and --checkpoint-path '%.200s' name two models; leave one of them out",
                       by->model, by->weights);
    if (!by->model) by->model = by->weights;
    if (by->model) return MF_OK;
    return mf_fail(MF_USAGE, "no model; try: --model FILE.safetensors, of mesoforge train unet");
}
