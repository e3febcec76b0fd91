/* See deploy.h: what deploy prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/cmd/host/deploy.h"
#include "src/cmd/plan.h"

/* -- the command -- */

static struct mf_json *list_of(const struct mf_words *words)
{
    struct mf_json *list = mf_json_array();

    for (size_t i = 0; i < words->count; ++i) mf_json_text(list, NULL, words->at[i]);
    return list;
}

int mf_deploy_show(const struct mf_server *s, const struct mf_words *words, int as_json)
{
    struct mf_json *json;
    int rc;

    if (!as_json) {
        mf_words_print(stdout, words, NULL);
        printf("\n");
        return MF_OK;
    }
    json = mf_json_object();
    MF_JSON(json, "name", s->name, "image", s->image, "devices", s->devices, "gpus", s->gpus, "command",
            list_of(words));
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

/* -- requests -- */

enum form { INPUTS, PROMPT, INPUT, PULL, GENERATE };

/* A request of a dialect: who speaks it, what for, where, and the form of its body. */
static const struct {
    const char *kind;
    unsigned makes;
    const char *path;
    enum form form;
} requests[] = {{"tgi", MF_MAKES_TEXT, "/generate", INPUTS},
                {"tei", MF_MAKES_VECTORS, "/embed", INPUTS},
                {"tei", MF_MAKES_VECTORS, "/v1/embeddings", INPUT},
                {"vllm", MF_MAKES_TEXT, "/v1/completions", PROMPT},
                {"vllm", MF_MAKES_VECTORS, "/v1/embeddings", INPUT},
                {"ollama", MF_MAKES_TEXT, "/api/pull", PULL},
                {"ollama", MF_MAKES_TEXT, "/api/generate", GENERATE},
                {"mesoforge", MF_MAKES_TEXT, "/generate", INPUTS},
                {"mesoforge", MF_MAKES_TEXT, "/v1/completions", PROMPT},
                {"mesoforge", MF_MAKES_VECTORS, "/embed", INPUTS},
                {"mesoforge", MF_MAKES_VECTORS, "/v1/embeddings", INPUT}};

static char *body_of(enum form form, const char *model)
{
    static const char *const prompt = "Once upon a time";
    struct mf_json *json = mf_json_object();
    char *text;

    if (form != INPUTS) mf_json_text(json, "model", model);
    if (form == INPUTS) mf_json_text(json, "inputs", prompt);
    if (form == INPUT) mf_json_text(json, "input", prompt);
    if (form == PROMPT || form == GENERATE) mf_json_text(json, "prompt", prompt);
    if (form == PROMPT) mf_json_int(json, "max_tokens", 20);
    if (form == GENERATE) mf_json_bool(json, "stream", 0);
    text = mf_json_string(json);
    text[strcspn(text, "\n")] = '\0';
    mf_json_free(json);
    return text;
}

static void request_words(const char *url, const char *path, enum form form, const char *model, struct mf_words *to)
{
    char *body = body_of(form, model);

    mf_words_add(to, "curl");
    mf_words_say(to, "%s%s", url, path);
    mf_words_add(to, "-H");
    mf_words_add(to, "Content-Type: application/json");
    mf_words_add(to, "-d");
    mf_words_add(to, body);
    free(body);
}

/* A model of unknown purpose is asked for texts, where its server makes them. */
static void each_request(const struct mf_server *s, unsigned makes, const char *url,
                         void (*see)(void *context, const struct mf_words *words), void *context)
{
    if (makes == 0) makes = s->kind->makes & MF_MAKES_TEXT ? MF_MAKES_TEXT : MF_MAKES_VECTORS;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; ++i) {
        struct mf_words words = {0};

        if (strcmp(requests[i].kind, s->kind->name) != 0 || !(requests[i].makes & makes)) continue;
        request_words(url, requests[i].path, requests[i].form, s->called, &words);
        see(context, &words);
        mf_words_free(&words);
    }
}

static void print_request(void *context, const struct mf_words *words)
{
    (void)context;
    mf_words_print(stdout, words, NULL);
    printf("\n");
}

static void list_request(void *list, const struct mf_words *words) { mf_json_put(list, NULL, list_of(words)); }

int mf_deploy_tell(const struct mf_server *s, unsigned makes, int as_json)
{
    char *url = mf_format("http://%s:%ld", strcmp(s->host, "0.0.0.0") == 0 ? "127.0.0.1" : s->host, s->port);
    struct mf_json *json = mf_json_object(), *list = mf_json_array();
    int rc = MF_OK;

    if (as_json) {
        each_request(s, makes, url, list_request, list);
        MF_JSON(json, "name", s->name, "url", url, "image", s->image, "devices", s->devices, "requests", list);
        rc = mf_json_write(json, stdout);
    } else {
        printf("%s serves '%s' at %s\n", s->name, s->called, url);
        each_request(s, makes, url, print_request, NULL);
        printf("stop it: mesoforge deploy %s --stop %s\n", mf_box_names[s->box], s->name);
        mf_json_free(list);
    }
    mf_json_free(json);
    free(url);
    return rc;
}

/* -- what is here -- */

static const enum mf_box boxes[] = {MF_BOX_DOCKER, MF_BOX_PODMAN, MF_BOX_APPTAINER};
static void tell_box(enum mf_box box, const struct mf_toolkit *toolkit, struct mf_json *list)
{
    char path[4096], why[MF_TOOLKIT_TEXT];
    enum mf_gpu_flag flag;
    const int is_here = mf_program_find(mf_box_names[box], path, sizeof path);
    const int works = mf_toolkit_flag(toolkit, box, &flag, why);

    if (list) {
        struct mf_json *one = mf_json_object();

        mf_json_text(one, "name", mf_box_names[box]);
        mf_json_some(one, "path", path);
        mf_json_some(one, "gpus", works ? mf_gpu_flag_words[flag] : NULL);
        mf_json_text(one, "reason", why);
        mf_json_put(list, NULL, one);
    } else if (is_here) {
        printf("%-10s %s; GPUs by %s: %s\n", mf_box_names[box], path, works ? mf_gpu_flag_words[flag] : "nothing", why);
    } else {
        printf("%-10s is not in PATH\n", mf_box_names[box]);
    }
}

static void tell_device(const struct mf_place_device *device, struct mf_json *list)
{
    struct mf_json *json;

    if (!list) {
        printf("%-10s %.1f of %.1f GiB free\n", device->name, (double)device->free / (1 << 30),
               (double)device->memory / (1 << 30));
        return;
    }
    json = mf_json_object();
    MF_JSON(json, "name", (const char *)device->name, "memory_bytes", (size_t)device->memory, "memory_free_bytes",
            (size_t)device->free);
    mf_json_put(list, NULL, json);
}

int mf_deploy_detect(const struct mf_session *s, const struct mf_deploy_opts *o)
{
    struct mf_plan_wish wish = {.hardware = o->hardware};
    struct mf_json *json = mf_common_of(s)->json ? mf_json_object() : NULL;
    struct mf_json *devices = json ? mf_json_array() : NULL, *runtimes = json ? mf_json_array() : NULL;
    struct mf_common common = *mf_common_of(s);
    const char *hook = getenv("MF_ROOT");
    struct mf_place_devices all;
    struct mf_hardware hardware;
    struct mf_toolkit toolkit;
    int rc = mf_plan_machine_of(s, &common, &wish, &hardware);

    if (rc == MF_OK) {
        mf_place_devices_find(&hardware, &all);
        for (size_t d = 0; d < all.count; ++d) tell_device(&all.device[d], devices);
        mf_place_devices_free(&all);
        mf_toolkit_look(hook ? hook : "", &toolkit);
        for (size_t i = 0; i < sizeof boxes / sizeof *boxes; ++i) tell_box(boxes[i], &toolkit, runtimes);
    }
    if (json) MF_JSON(json, "devices", devices, "runtimes", runtimes);
    if (json && rc == MF_OK) rc = mf_json_write(json, stdout);
    mf_json_free(json);
    mf_hardware_free(&hardware);
    return rc;
}
