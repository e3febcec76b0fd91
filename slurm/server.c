/* See server.h: the command lines. */
#include "slurm/server_kinds.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/err.h"
#include "src/base/text.h"

static size_t name_length(const char *variable) { return strcspn(variable, "="); }

/* Does the word of @p n letters end so? */
static int ends_so(const char *word, size_t n, const char *ending)
{
    const size_t length = strlen(ending);

    return n >= length && strncasecmp(word + n - length, ending, length) == 0;
}

/* A word of it, between underscores, ends as names of secrets do: HF_TOKEN, but not MAX_TOTAL_TOKENS. */
int mf_server_is_secret(const char *variable)
{
    static const char *const endings[] = {"token", "secret",     "secrets", "password", "passwd",     "pass",
                                          "pwd",   "passphrase", "key",     "auth",     "credential", "credentials"};
    const char *const end = variable + name_length(variable);
    size_t n;

    for (const char *word = variable; word < end; word += n + 1) {
        n = strcspn(word, "_=");
        for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i)
            if (ends_so(word, n, endings[i])) return 1;
    }
    return 0;
}

void mf_server_environment(const struct mf_server *server)
{
    for (size_t i = 0; i < server->variables; ++i) {
        const char *variable = server->variable[i], *equals = strchr(variable, '=');
        const char *prefix = server->box == MF_BOX_APPTAINER ? "APPTAINERENV_" : "";
        char *name;

        if (!equals || !mf_server_is_secret(variable)) continue;
        name = mf_format("%s%.*s", prefix, (int)name_length(variable), variable);
        MF_ASSERT(setenv(name, equals + 1, 1) == 0);
        free(name);
    }
}

/* Apptainer reads two or more equals signs as CSV, where quotes keep commas together. */
static void say_variable(struct mf_words *to, const struct mf_server *server, const char *variable)
{
    const int is_apptainer = server->box == MF_BOX_APPTAINER;
    const char *equals = strchr(variable, '=');

    if (is_apptainer && equals && strchr(equals + 1, '=') && strchr(equals, ','))
        mf_words_say(to, "--env=\"%s\"", variable);
    else if (!mf_server_is_secret(variable))
        mf_words_say(to, "--env=%s", variable);
    else if (!is_apptainer)
        mf_words_say(to, "--env=%.*s", (int)name_length(variable), variable);
}

static int is_given(const struct mf_server *server, const char *variable)
{
    const size_t n = name_length(variable);

    for (size_t i = 0; i < server->variables; ++i)
        if (name_length(server->variable[i]) == n && strncmp(server->variable[i], variable, n) == 0) return 1;
    return 0;
}

void mf_server_say_default(struct mf_words *to, const struct mf_server *server, const char *name, const char *value)
{
    char *variable = mf_format("%s=%s", name, value);

    if (!is_given(server, variable)) say_variable(to, server, variable);
    free(variable);
}

/* Images of NVIDIA ask for all GPUs by a variable. Where NVIDIA's runtime is the usual one, it heeds that. */
static void say_gpus(struct mf_words *to, const struct mf_server *server)
{
    const int is_apptainer = server->box == MF_BOX_APPTAINER;

    if (server->gpus > 0) mf_box_say_gpus(to, server->flag, server->devices);
    if (!is_apptainer && (server->gpus == 0 || server->flag == MF_GPUS_BY_CDI))
        mf_server_say_default(to, server, "NVIDIA_VISIBLE_DEVICES", "void");
}

static void say_inside(struct mf_words *to, const struct mf_server *server)
{
    const char *option = server->box == MF_BOX_APPTAINER ? "--bind=" : "--volume=";

    if (server->kind->options) server->kind->options(server, to);
    for (size_t i = 0; i < server->variables; ++i) say_variable(to, server, server->variable[i]);
    if (server->mount) mf_box_say_mount(to, option, server->mount);
    for (size_t i = 0; i < server->volumes; ++i) mf_box_say_mount(to, option, server->volume[i]);
}

/* Weights are read before a server is healthy: failures of the first ten minutes do not count. */
static void say_check(struct mf_words *to, const struct mf_server *server)
{
    if (!server->kind->check) return;
    mf_words_say(to, "--health-cmd=%s", server->kind->check);
    mf_words_add(to, "--health-start-period=600s");
}

int mf_server_is_local(const struct mf_server *server)
{
    return server->kind->make && strcmp(server->image, server->kind->image) == 0;
}

static void docker_words(struct mf_words *to, const struct mf_server *server)
{
    mf_words_add(to, mf_box_names[server->box]);
    mf_words_add(to, "run");
    mf_words_add(to, "--detach");
    mf_words_say(to, "--name=%s", server->name);
    mf_words_say(to, "--publish=%s:%ld:%ld", server->host, server->port, server->kind->port);
    mf_words_say(to, "--restart=%s", server->restart);
    mf_words_say(to, "--shm-size=%s", server->shm);
    if (server->is_labelled) mf_words_add(to, "--security-opt=label=disable");
    if (mf_server_is_local(server)) mf_words_add(to, "--pull=never"); /* its name in a registry is somebody else's */
    say_check(to, server);
    say_gpus(to, server);
    say_inside(to, server);
    mf_words_add(to, server->image);
}

/* It has the network, the devices and the home folder of its user. --no-eval: else its shell would expand values. */
static void apptainer_words(struct mf_words *to, const struct mf_server *server)
{
    static const char *const begin[] = {"apptainer", "instance"};
    static const char *const more[] = {"--cleanenv", "--no-eval", "--writable-tmpfs"};

    mf_words_all(to, sizeof begin / sizeof *begin, begin);
    mf_words_add(to, server->kind->sif ? "start" : "run"); /* start: what the image's %startscript gets */
    mf_words_all(to, sizeof more / sizeof *more, more);
    say_gpus(to, server);
    say_inside(to, server);
    mf_words_add(to, server->image);
    mf_words_add(to, server->name);
}

void mf_server_words(const struct mf_server *server, struct mf_words *words)
{
    if (server->box == MF_BOX_APPTAINER)
        apptainer_words(words, server);
    else
        docker_words(words, server);
    if (server->kind->words) server->kind->words(server, words);
    mf_words_all(words, server->words, server->word);
}

int mf_server_act_words(enum mf_box box, enum mf_server_act act, const char *name, struct mf_words *words)
{
    static const char *const docker[][3] = {[MF_SERVER_STATE] = {"inspect", "--format={{.State.Status}}", NULL},
                                            [MF_SERVER_LOG] = {"logs", "--tail=40", NULL},
                                            [MF_SERVER_STOP] = {"stop", NULL, NULL},
                                            [MF_SERVER_REMOVE] = {"rm", NULL, NULL}};
    static const char *const apptainer[][3] = {[MF_SERVER_STATE] = {"instance", "list", NULL},
                                               [MF_SERVER_LOG] = {"instance", "list", "--logs"},
                                               [MF_SERVER_STOP] = {"instance", "stop", NULL},
                                               [MF_SERVER_REMOVE] = {NULL, NULL, NULL}};
    const char *const *say = box == MF_BOX_APPTAINER ? apptainer[act] : docker[act];

    if (!say[0]) return 0;
    mf_words_add(words, mf_box_names[box]);
    for (size_t i = 0; i < 3 && say[i]; ++i) mf_words_add(words, say[i]);
    mf_words_add(words, name);
    return 1;
}
