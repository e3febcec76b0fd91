/* deploy: shows or runs the container of a server of models. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/host/deploy.h"
#include "src/cmd/host/mount.h"

#define ROW(word, field, kind, standard, help) MF_OPT(mf_deploy_opts, word, field, kind, standard, help)

static const struct mf_opt rows[] = {
    ROW("model", model, MF_TEXT, NULL,
        "folder of a language model, which the container reads; or a name that tgi, tei, vllm or ollama downloads"),
    MF_CHOICE_TEXT(mf_deploy_opts, "api-type", api, "mesoforge", "mesoforge|tgi|tei|vllm|openai|ollama",
                   "the server; openai is vllm; tgi is no longer developed"),
    ROW("devices", devices, MF_TEXTS, NULL,
        "cuda:0 cuda:2, with commas, or UUIDs, also of parts of GPUs (MIG); cpu: none; left out: all GPUs"),
    ROW("auto-select", auto_select, MF_FLAG, NULL, "take those that map --recommend names for the model"),
    MF_CHOICE_TEXT(
        mf_deploy_opts, "strategy", strategy, "auto", "auto|tensor-parallel|pipeline-parallel",
        "how GPUs share a model: each has a part of each layer, or some of the layers; auto: the first if it can"),
    ROW("hardware", hardware, MF_TEXT, NULL, "the line is for the machine in this file; without: for this one"),
    MF_CHOICE_TEXT(mf_deploy_opts, "gpu-flag", flag, "auto", "auto|gpus|cdi|runtime",
                   "how docker gives them: --gpus, --device nvidia.com/gpu=, --runtime=nvidia; auto: what works here"),
    ROW("image", image, MF_TEXT, NULL, "of the container; left out: that of the server"),
    ROW("host", host, MF_TEXT, "127.0.0.1", "address of this machine at which the server answers (IPv4)"),
    ROW("port", port, MF_LONG, "8080", "of this machine"),
    ROW("container-name", name, MF_TEXT, NULL, "left out: mesoforge-API-PORT"),
    ROW("env", env, MF_TEXTS, NULL,
        "NAME=VALUE ..: variables in the container; values of secrets (HF_TOKEN) are printed nowhere"),
    ROW("volumes", volumes, MF_TEXTS, NULL,
        "more folders that the container sees: DIR, DIR:DIR or DIR:DIR:ro, by whole paths or ./DIR"),
    MF_ALIAS("mount", "volumes"),
    ROW("shm-size", shm, MF_TEXT, "1g", "its shared memory, of docker and podman"),
    ROW("restart", restart, MF_TEXT, "on-failure:3", "no, always, unless-stopped or on-failure[:NUMBER], of both"),
    ROW("trust-remote-code", trusts, MF_FLAG, NULL, "run code that comes with the model (tgi, vllm)"),
    ROW("wait", wait, MF_LONG, "60", "how long to wait until the server is healthy [s]; 0: not at all"),
    ROW("stop", stop, MF_TEXT, NULL, "stop and remove the container of this name"),
    ROW("detect-only", detect_only, MF_FLAG, NULL, "list GPUs and programs for containers, and stop"),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* -- what is started -- */

static const char *image_of(const struct mf_deploy_opts *o, const struct mf_server *s, int capability, char **own)
{
    const char *image = mf_server_image(s->kind, s->box, capability);

    *own = NULL;
    if (o->image) return o->image;
    if (!image || s->box != MF_BOX_APPTAINER || s->kind->sif) return image;
    return *own = mf_format("docker://%s", image);
}

/* How it gets its GPUs, by the configuration of this machine. */
static void look_here(const struct mf_deploy_opts *o, struct mf_server *s)
{
    const char *hook = getenv("MF_ROOT"); /* tests: where etc/, sys/ and usr/ are */
    struct mf_toolkit toolkit;
    char why[MF_TOOLKIT_TEXT];
    int works;

    mf_toolkit_look(hook ? hook : "", &toolkit);
    s->is_labelled = toolkit.is_labelled;
    works = mf_toolkit_flag(&toolkit, s->box, &s->flag, why);
    if (!is(o->flag, "auto"))
        s->flag = is(o->flag, "gpus") ? MF_GPUS_BY_OPTION : is(o->flag, "cdi") ? MF_GPUS_BY_CDI : MF_GPUS_BY_RUNTIME;
    else if (!works && s->gpus > 0 && !o->common.dry_run)
        mf_warn("%s gives no GPUs here: %s", mf_box_names[s->box], why);
}

static void say_notes(const struct mf_deploy_opts *o, const struct mf_server *s)
{
    if (is(s->kind->name, "tgi"))
        mf_warn("tgi is no longer developed (since December 2025); mesoforge answers its requests, too");
    if (!s->mount) mf_info("'%s' is no folder here: the server downloads it", s->model);
    if (s->box != MF_BOX_APPTAINER && !strchr(s->image, '@') && !mf_server_is_local(s))
        mf_info("image '%s' has no digest: a later start may get another one", s->image);
    if (s->trusts) mf_warn("--trust-remote-code: the container runs code that comes with the model");
    for (size_t i = 0; o->common.dry_run && i < o->env.count; ++i)
        if (mf_server_is_secret(o->env.at[i]))
            mf_info("%.*s is not in the line: export %s%.*s before it", (int)strcspn(o->env.at[i], "="), o->env.at[i],
                    s->box == MF_BOX_APPTAINER ? "APPTAINERENV_" : "", (int)strcspn(o->env.at[i], "="), o->env.at[i]);
}

static int start(const struct mf_deploy_opts *o, const struct mf_server *s, unsigned makes)
{
    struct mf_words words = {0};
    int rc;

    mf_server_words(s, &words);
    say_notes(o, s);
    rc = o->common.dry_run ? mf_deploy_show(s, &words, o->common.json) : mf_deploy_start(s, &words, o, makes);
    mf_words_free(&words);
    return rc;
}

static int decide(const struct mf_deploy_opts *o, const struct mf_deploy_model *model,
                  const struct mf_deploy_gpus *gpus, struct mf_server *s)
{
    char *image, *name = mf_format("mesoforge-%s-%ld", s->kind->name, o->port);
    int rc;

    s->gpus = gpus->count;
    s->devices = gpus->list;
    s->model = model->there;
    s->called = model->called;
    s->mount = model->mount;
    s->name = o->name ? o->name : name;
    s->image = image_of(o, s, gpus->capability, &image);
    rc = mf_deploy_share(o, s->kind, model, gpus->count, &s->is_pipeline);
    if (rc == MF_OK) look_here(o, s);
    if (rc == MF_OK && !s->image)
        rc = mf_fail(MF_USAGE,
                     "%s has an image for each capability of GPUs, and none is known here for these; name it "
                     "by --image",
                     s->kind->name);
    if (rc == MF_OK) rc = start(o, s, model->makes);
    free(image);
    free(name);
    return rc;
}

static int find_volumes(const struct mf_deploy_opts *o, struct mf_server *s, struct mf_words *volumes)
{
    for (size_t i = 0; i < o->volumes.count; ++i) MF_TRY(mf_mount_whole("volumes", s->box, o->volumes.at[i], volumes));
    for (size_t i = 0; i < volumes->count; ++i) MF_TRY(mf_box_check_mount("volumes", volumes->at[i]));
    s->volumes = volumes->count;
    s->volume = (const char *const *)volumes->at;
    return MF_OK;
}

static int deploy(struct mf_session *session, const struct mf_deploy_opts *o, enum mf_box box)
{
    struct mf_server s = {.kind = mf_deploy_kind(o->api),
                          .box = box,
                          .host = o->host,
                          .port = o->port,
                          .shm = o->shm,
                          .restart = o->restart,
                          .variables = o->env.count,
                          .variable = o->env.at,
                          .trusts = o->trusts,
                          .user = (long)getuid()};
    struct mf_deploy_model model;
    struct mf_deploy_gpus gpus = {.count = 0};
    struct mf_words volumes = {0};
    const size_t words = mf_arguments(session, &s.word);
    int rc = mf_deploy_model_find(o->model, s.kind, &model);

    s.words = words - 1; /* the first is the program that runs containers */
    ++s.word;
    if (rc == MF_OK) rc = find_volumes(o, &s, &volumes);
    if (rc == MF_OK) rc = mf_deploy_gpus_find(session, o, s.kind, &model, &gpus);
    if (rc == MF_OK) rc = decide(o, &model, &gpus, &s);
    mf_words_free(&volumes);
    mf_deploy_gpus_free(&gpus);
    mf_deploy_model_free(&model);
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    const struct mf_deploy_opts *o = options;
    enum mf_box box;

    if (o->detect_only) return mf_deploy_detect(session, o);
    MF_TRY(mf_deploy_box(session, &box));
    return o->stop ? mf_deploy_stop(box, o->stop, session->settings.dry_run) : deploy(session, o, box);
}

const struct mf_cmd mf_cmd_deploy = {
    .name = "deploy",
    .summary = "start a server of a language model in a container of docker, podman or apptainer",
    .synopsis = "docker|podman|apptainer --model MODEL [--api-type API] [--devices cuda:0 ...] [--dry-run] [-- WORDS]",
    .text =
        "Writes the command line of a container that serves MODEL, runs it, and waits until the server is healthy. "
        "Then it prints the address, and a request for each dialect. If the server does not become healthy, the end of "
        "the container's log is shown. --dry-run prints the line, quoted for a shell, and touches nothing. No shell "
        "is used.\n"
        "\n"
        "The container gets the GPUs of --devices and no others, the model's folder for reading only, and a port of "
        "127.0.0.1. Servers are this program (image: packaging/Dockerfile), text-generation-inference (tgi), "
        "text-embeddings-inference (tei), vLLM and ollama. docs/SERVING.md tells what each of them gets. Words behind "
        "'--' are options of the server.\n"
        "\n"
        "  mesoforge deploy docker --model opt-1.3b --devices cuda:0 cuda:2\n"
        "  mesoforge deploy podman --model opt-1.3b --api-type vllm --auto-select\n"
        "  mesoforge deploy docker --model facebook/opt-1.3b --api-type tgi \\\n"
        "      --devices cuda:1 --env MAX_TOTAL_TOKENS=2048 --dry-run\n"
        "  mesoforge deploy docker --model opt-1.3b -- --dtype int8\n"
        "  mesoforge deploy docker --stop mesoforge-tgi-8080\n"
        "  mesoforge deploy --detect-only\n",
    .tables = tables,
    .size = sizeof(struct mf_deploy_opts),
    .positional_max = 1000,
    .check = mf_deploy_check,
    .run = run,
    .work = MF_WORK_NONE,
};
