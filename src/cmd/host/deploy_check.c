/* See deploy.h: the options, before anything is looked at. */
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/words.h"
#include "src/cmd/host/deploy.h"
#include "src/cmd/unused.h"

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

int mf_deploy_box(const struct mf_session *s, enum mf_box *box)
{
    static const char *const names[] = {"docker", "podman", "apptainer"};
    const char *const *words;
    const char *near;

    if (mf_arguments(s, &words) == 0)
        return mf_fail(MF_USAGE, "which program runs containers? mesoforge deploy docker|podman|apptainer --model ..");
    for (int b = MF_BOX_NONE + 1; b < MF_BOXES; ++b)
        if (is(words[0], mf_box_names[b]) && b != MF_BOX_PYXIS && b != MF_BOX_ENROOT) {
            *box = (enum mf_box)b;
            return MF_OK;
        }
    near = mf_nearest(words[0], names, 3);
    return mf_fail(MF_USAGE, "'%.60s' runs no servers; there are docker, podman, apptainer%s%s%s", words[0],
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

const struct mf_server_kind *mf_deploy_kind(const char *api)
{
    const struct mf_server_kind *const *kind = mf_server_kinds;

    while (*kind && !is((*kind)->name, is(api, "openai") ? "vllm" : api)) ++kind;
    MF_ASSERT(*kind); /* the word is one of the choices of --api-type */
    return *kind;
}

/* As docker's names; podman and apptainer take the same. */
static int check_name(const char *option, const char *name)
{
    static const char *const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

    if (!name || (isalnum((unsigned char)*name) && name[strspn(name, allowed)] == '\0' && strlen(name) < 128))
        return MF_OK;
    return mf_fail(MF_USAGE, "--%s '%.100s': names are letters, digits, '_', '.' and '-', and begin with none of these",
                   option, name);
}

/* Letters of the NAME of "NAME=VALUE"; 0: it has none. */
static size_t name_length(const char *variable)
{
    const char *at = variable;

    if (isdigit((unsigned char)*at)) return 0;
    while (isalnum((unsigned char)*at) || *at == '_') ++at;
    return *at == '=' ? (size_t)(at - variable) : 0;
}

static int check_variable(const struct mf_deploy_opts *o, size_t i, enum mf_box box)
{
    const char *variable = o->env.at[i];
    const size_t n = name_length(variable);

    if (n == 0)
        return mf_fail(MF_USAGE, "--env '%.*s': write it as NAME=VALUE, with a name of letters, digits and '_'",
                       (int)(strcspn(variable, "=") < 60 ? strcspn(variable, "=") : 60), variable);
    if (strpbrk(variable, "\n") || (box == MF_BOX_APPTAINER && strchr(variable, '"')))
        return mf_fail(MF_USAGE, "--env %.*s: its value has %s, which cannot be passed on", (int)n, variable,
                       strchr(variable, '\n') ? "a line break" : "a double quote");
    for (size_t k = 0; k < i; ++k)
        if (strncmp(o->env.at[k], variable, n + 1) == 0)
            return mf_fail(MF_USAGE, "--env %.*s is given twice", (int)n, variable);
    return MF_OK;
}

static int check_size(const char *size)
{
    const size_t n = strspn(size, "0123456789");

    if (n > 0 && n < 16 && (size[n] == '\0' || (strchr("bkmgBKMG", size[n]) && size[n + 1] == '\0'))) return MF_OK;
    return mf_fail(MF_USAGE, "--shm-size '%.60s': write it as a number and b, k, m or g, such as 1g", size);
}

static int check_restart(const char *restart)
{
    static const char limit[] = "on-failure:";
    const size_t n = sizeof limit - 1;

    if (is(restart, "no") || is(restart, "always") || is(restart, "unless-stopped") || is(restart, "on-failure"))
        return MF_OK;
    if (strncmp(restart, limit, n) == 0 && restart[n] && strlen(restart + n) < 6 &&
        strspn(restart + n, "0123456789") == strlen(restart + n))
        return MF_OK;
    return mf_fail(MF_USAGE, "--restart '%.60s': there are no, always, unless-stopped, on-failure and on-failure:3",
                   restart);
}

static int check_address(const struct mf_deploy_opts *o)
{
    struct in_addr at;

    if (o->port < 1 || o->port > 65535) return mf_fail(MF_USAGE, "--port must be 1 to 65535, not %ld", o->port);
    if (inet_pton(AF_INET, o->host, &at) != 1)
        return mf_fail(MF_USAGE, "--host '%.100s': write it as an IPv4 address of this machine, such as 127.0.0.1",
                       o->host);
    if (strncmp(o->host, "127.", 4) != 0)
        mf_warn("--host %s: whoever reaches this machine reaches the server, without encryption", o->host);
    return MF_OK;
}

/* Apptainer's containers end with their program, and have the memory of the machine. */
static int check_box(const struct mf_session *s, const struct mf_deploy_opts *o, enum mf_box box)
{
    if (box == MF_BOX_APPTAINER && mf_given(s, "restart"))
        return mf_fail(MF_USAGE, "--restart: apptainer starts nothing again; leave it out");
    if (box == MF_BOX_APPTAINER && mf_given(s, "shm-size"))
        return mf_fail(MF_USAGE, "--shm-size: containers of apptainer have the shared memory of this machine; leave it "
                                 "out");
    if (box == MF_BOX_PODMAN && (is(o->flag, "gpus") || is(o->flag, "runtime")))
        return mf_fail(MF_USAGE, "--gpu-flag %s is of docker, and podman takes CDI; try: --gpu-flag cdi", o->flag);
    if (box == MF_BOX_APPTAINER && !is(o->flag, "auto"))
        return mf_fail(MF_USAGE, "--gpu-flag %s: apptainer has --nv alone; leave it out", o->flag);
    return MF_OK;
}

static int check_alone(const struct mf_session *s, const char *option)
{
    static const char *const others[] = {"model", "auto-select", "devices", "image", "env", "volumes", NULL};

    for (size_t i = 0; others[i]; ++i)
        if (mf_given(s, others[i])) return mf_fail(MF_USAGE, "--%s and --%s contradict each other", option, others[i]);
    return MF_OK;
}

/* Words behind the first argument are options of the server. */
static int check_words(const struct mf_session *s, const struct mf_deploy_opts *o)
{
    const char *const *words;
    const size_t n = mf_arguments(s, &words);

    if (n < 2) return MF_OK;
    if (o->stop || o->detect_only || *words[1] != '-')
        return mf_fail(MF_USAGE, "'%.200s': what is that? options of the server stand behind '--', at the end",
                       words[1]);
    if (!mf_deploy_kind(o->api)->words)
        return mf_fail(MF_USAGE, "'%.200s': %s takes its settings by --env", words[1], mf_deploy_kind(o->api)->name);
    return MF_OK;
}

static int check_values(const struct mf_session *s, const struct mf_deploy_opts *o, enum mf_box box)
{
    if (!o->model) return mf_fail(MF_USAGE, "no model; try: mesoforge deploy %s --model FOLDER", mf_box_names[box]);
    MF_TRY(check_address(o));
    MF_TRY(check_name("container-name", o->name));
    MF_TRY(check_size(o->shm));
    MF_TRY(check_restart(o->restart));
    MF_TRY(check_box(s, o, box));
    if (o->image) MF_TRY(mf_box_check_image("image", o->image));
    for (size_t i = 0; i < o->env.count; ++i) MF_TRY(check_variable(o, i, box));
    if (o->trusts && !mf_deploy_kind(o->api)->trusts)
        return mf_fail(MF_USAGE, "--trust-remote-code: %s runs no code of a model; leave it out",
                       mf_deploy_kind(o->api)->name);
    if (o->wait < 0 || o->wait > 86400) return mf_fail(MF_USAGE, "--wait must be 0 to 86400 seconds, not %ld", o->wait);
    if (o->hardware && !s->settings.dry_run)
        return mf_fail(MF_USAGE, "--hardware is of another machine: its line is shown with --dry-run");
    return MF_OK;
}

int mf_deploy_check(const struct mf_session *s, void *options)
{
    const struct mf_deploy_opts *o = options;
    enum mf_box box;

    if (s->comm->size > 1)
        return mf_fail(MF_USAGE, "one rank starts a server, and %d run; leave out the launcher", s->comm->size);
    MF_UNUSED(s, "deploy starts programs of others", "device", "output", "seed");
    MF_TRY(check_words(s, o));
    if (o->detect_only && o->stop) return mf_fail(MF_USAGE, "--detect-only and --stop contradict each other");
    if (o->detect_only) return check_alone(s, "detect-only");
    MF_TRY(mf_deploy_box(s, &box));
    if (!o->stop) return check_values(s, o, box);
    MF_TRY(check_name("stop", o->stop));
    return check_alone(s, "stop");
}
