/* See deploy.h: what a model is, and where its files are in the container. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/cmd/host/deploy.h"

enum { CONFIG_MOST = 16 << 20, VALUES_MOST = 1 << 20, ABOVE = 2 /* folders above a model that are mounted at most */ };

/* -- what it makes -- */

static int is_in(const char *folder, const char *name)
{
    char *path = mf_format("%s/%s", folder, name);
    const int is = access(path, F_OK) == 0;

    free(path);
    return is;
}

/* By the class that made it. Decoders that sentence-transformers has saved make vectors. */
static unsigned makes_of(const char *folder, const char *what)
{
    static const char *const texts[] = {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration"};

    if (is_in(folder, "modules.json")) return MF_MAKES_VECTORS;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        if (mf_ends_with(what, texts[i])) return MF_MAKES_TEXT;
    return *what ? MF_MAKES_VECTORS : 0;
}

static int read_config(const char *folder, struct mf_deploy_model *m)
{
    char *path = mf_format("%s/config.json", folder);
    struct mf_json *config = NULL;
    int rc = mf_json_load_foreign(path, CONFIG_MOST, VALUES_MOST, &config);

    if (rc == MF_OK)
        snprintf(m->what, sizeof m->what, "%s", mf_json_to_text(mf_json_item(mf_json_get(config, "architectures"), 0)));
    mf_json_free(config);
    free(path);
    return rc;
}

/* This program serves the models that it knows; others are told only what they are for. */
static int read_folder(const char *folder, const struct mf_server_kind *kind, struct mf_deploy_model *m)
{
    int rc;

    MF_TRY(read_config(folder, m));
    m->makes = makes_of(folder, m->what);
    rc = mf_language_read(folder, &m->language);
    m->is_language = rc == MF_OK;
    if (m->is_language && !m->makes) m->makes = m->language.family == MF_BERT ? MF_MAKES_VECTORS : MF_MAKES_TEXT;
    if (rc == MF_OK || !kind->names) return rc;
    mf_err_clear();
    return MF_OK;
}

static int check_makes(const char *model, const struct mf_server_kind *kind, const struct mf_deploy_model *m)
{
    if (!m->makes || (m->makes & kind->makes)) return MF_OK;
    return mf_fail(MF_USAGE, "%s %s, and '%.200s'%s%s%s %s; try: --api-type mesoforge, vllm%s", kind->name,
                   kind->makes == MF_MAKES_TEXT ? "continues texts" : "makes vectors of texts", model,
                   *m->what ? " (" : "", m->what, *m->what ? ")" : "",
                   m->makes == MF_MAKES_TEXT ? "continues texts" : "makes vectors of them",
                   m->makes == MF_MAKES_TEXT ? ", tgi" : ", tei");
}

/* -- where it is -- */

/* The folder that is @p above folders above; heap. */
static char *folder_above(const char *path, int above)
{
    char *folder = MF_MUST(strdup(path), "a name");

    for (; above > 0; --above) {
        char *slash = strrchr(folder, '/');

        if (!slash || slash == folder) break;
        *slash = '\0';
    }
    return folder;
}

static int is_below(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* How many folders above the model's its links lead. In a cache of models files are links: ../../blobs/... */
static int links_lead(const char *folder, int *above)
{
    DIR *list = opendir(folder);
    int rc = MF_OK;

    *above = 0;
    for (const struct dirent *one; list && rc == MF_OK && (one = readdir(list));) {
        char *path = mf_format("%s/%s", folder, one->d_name), *whole = realpath(path, NULL), *top;

        for (int is_done = !whole || strcmp(one->d_name, "..") == 0; !is_done;) {
            top = folder_above(folder, *above);
            is_done = is_below(whole, top);
            free(top);
            if (!is_done && ++*above > ABOVE) {
                rc = mf_fail(MF_USAGE, "'%.200s' leads to '%.200s', far from the model's folder; try: cp -rL", path,
                             whole);
                is_done = 1;
            }
        }
        free(whole);
        free(path);
    }
    if (list) closedir(list);
    return rc;
}

/* A folder or a file of this machine, mounted below /models. */
static int mount(const char *model, int is_folder, struct mf_deploy_model *m)
{
    char *whole = realpath(model, NULL), *top;
    int above = 0, rc = MF_OK;

    if (!whole) return mf_fail(MF_INPUT, "'%.200s' cannot be found", model);
    if (is_folder) rc = links_lead(whole, &above);
    top = folder_above(whole, above);
    if (rc == MF_OK && strpbrk(top, ",:\n"))
        rc = mf_fail(MF_USAGE, "'%.200s' has ',' or ':' in its name and cannot be mounted", top);
    if (rc == MF_OK) {
        const char *last = mf_name_base(top);

        m->mount = mf_format("%s:/models/%s:ro", top, last);
        m->there = mf_format("/models/%s%s", last, whole + strlen(top));
        m->called = mf_format("%s", mf_name_base(whole));
    }
    free(top);
    free(whole);
    return rc;
}

/* -- names -- */

/* As registries of models have them: OWNER/NAME, NAME:TAG. */
static int is_name(const char *model)
{
    static const char *const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-";

    return *model && !strchr("/.~-", *model) && model[strspn(model, allowed)] == '\0' && !strstr(model, "..");
}

static int take_name(const char *model, const struct mf_server_kind *kind, struct mf_deploy_model *m)
{
    if (!is_name(model)) return mf_fail(MF_INPUT, "'%.200s': there is no such folder", model);
    if (!kind->names)
        return mf_fail(MF_INPUT, "'%.200s': there is no such folder, and %s downloads nothing; try: --api-type vllm",
                       model, kind->name);
    m->there = mf_format("%s", model);
    m->called = mf_format("%s", kind->folders ? mf_name_base(model) : model);
    return MF_OK;
}

int mf_deploy_model_find(const char *model, const struct mf_server_kind *kind, struct mf_deploy_model *found)
{
    struct stat is;
    int rc = MF_OK;

    *found = (struct mf_deploy_model){.mount = NULL};
    if (stat(model, &is) != 0) return take_name(model, kind, found);
    if (!kind->folders)
        return mf_fail(MF_USAGE, "%s takes a name of its library, and '%.200s' is a file or a folder", kind->name,
                       model);
    if (!S_ISDIR(is.st_mode) && kind->names)
        return mf_fail(MF_USAGE, "%s takes the folder of a language model, and '%.200s' is a file", kind->name, model);
    if (S_ISDIR(is.st_mode) && !mf_language_named(model))
        return mf_fail(MF_INPUT, "'%.200s' has no config.json, and is no folder of a language model", model);
    if (S_ISDIR(is.st_mode)) rc = read_folder(model, kind, found);
    if (rc == MF_OK) rc = check_makes(model, kind, found);
    return rc == MF_OK ? mount(model, S_ISDIR(is.st_mode), found) : rc;
}

void mf_deploy_model_free(struct mf_deploy_model *model)
{
    free(model->mount);
    free(model->there);
    free(model->called);
}
