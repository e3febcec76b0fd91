/* Verbs of the library by their names: what they give, and what they refuse. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/lib_host.h"

static mesoforge_result *run(const struct host *h, const char *verb, const char *inputs, const char *options)
{
    mesoforge_result *r = NULL;
    const int rc = mesoforge_run(h->session, verb, inputs, options, &r);

    CHECK_SAYS(rc == MESOFORGE_OK && r, "%s %s: %s", verb, options ? options : "", mesoforge_last_error()->sentence);
    return r;
}

static void gives(const struct host *h, const char *verb, const char *inputs, const char *options, const char *part)
{
    mesoforge_result *r = run(h, verb, inputs, options);
    const char *json = mesoforge_result_json(r);

    CHECK_SAYS(json && strstr(json, part), "%s: %.300s", verb, json ? json : "");
    mesoforge_result_free(r);
}

static void refuses(const struct host *h, const char *verb, const char *inputs, const char *options, int code,
                    const char *part)
{
    const struct mesoforge_error *error;
    mesoforge_result *r = NULL;

    CHECK(mesoforge_run(h->session, verb, inputs, options, &r) == code && !r);
    error = mesoforge_last_error();
    CHECK_SAYS(error->code == code && (strstr(error->sentence, part) || strstr(error->advice, part)), "%s; %s",
               error->sentence, error->advice);
}

static void verbs_print(void)
{
    struct host h = start(NULL);
    mesoforge_result *one = run(&h, "characterize", "@image", "limit-to=6"), *other = measure(&h, "limit-to=6");

    CHECK(same_arrays(one, other));
    mesoforge_result_free(one);
    mesoforge_result_free(other);
    gives(&h, "compare", "@image '@image'", "limit-to=8", "\"score\":0.0");
    gives(&h, "info", "@image", NULL, "\"kind\":\"microstructure\"");
    gives(&h, "properties", "@image", "conductivity=1,10", "\"conductivity\"");
    gives(&h, "probe", NULL, NULL, "\"schema\":\"hardware\"");
    gives(&h, "plan match", "@image", "size=64,64,64 device=cpu", "\"schema\":\"plan\"");
    gives(&h, "plan train", "regress", "size=16 size=16 arch=mlp device=cpu", "\"schema\":\"plan\"");
    refuses(&h, "compare", "@image", NULL, MESOFORGE_USAGE, "two files are needed");
    refuses(&h, "compare", "@image @image", "limt-to=3", MESOFORGE_USAGE, "--limit_to");
    refuses(&h, "compare", "@image --device=cpu", NULL, MESOFORGE_USAGE, "is no input");
    refuses(&h, "compare", "@image @other", NULL, MESOFORGE_INPUT, "'@other': the session has no such field");
    refuses(&h, "compare", "@image '@image", NULL, MESOFORGE_USAGE, "a quote (') has no end");
    refuses(&h, "compare", "@image @image", "threads=2", MESOFORGE_USAGE, "another session");
    refuses(&h, "characterize", "@image @image", NULL, MESOFORGE_USAGE, "measures one field");
    refuses(&h, "characterize", "@image", "output=x.h5", MESOFORGE_USAGE, "gets arrays");
    refuses(&h, "compare", "@image @image", "labels=0 labels=a.npy", MESOFORGE_USAGE, "integers, not 'a.npy'");
    refuses(&h, "view", "@image", NULL, MESOFORGE_USAGE, "output=FILE");
    refuses(&h, "synthh", NULL, NULL, MESOFORGE_USAGE, "mesoforge synth");
    refuses(&h, "serve", NULL, NULL, MESOFORGE_USAGE, "of the program alone");
    refuses(&h, NULL, NULL, NULL, MESOFORGE_USAGE, "no verb");
    mesoforge_close(h.session);
}

/* A verb that needs no session has one. */
static void reads_tokens(void)
{
    static const char model[] =
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}}";
    char path[64];
    struct host h = start(NULL);
    FILE *file;

    (void)snprintf(path, sizeof path, "lib_run_%d.json", (int)getpid());
    file = fopen(path, "w");
    CHECK(file && fputs(model, file) >= 0 && fclose(file) == 0);
    gives(&h, "infer tokens", path, "prompt=abba", "\"tokens\":[2,1,0]");
    refuses(&h, "infer tokens", path, NULL, MESOFORGE_USAGE, "no text");
    refuses(&h, "infer tokens", path, "prompt=a json", MESOFORGE_USAGE, "--json is an option of the program");
    CHECK(remove(path) == 0);
    mesoforge_close(h.session);
}

/* A session that trusts files decodes them where it stands. */
static void trusts(void)
{
    char path[64], text[128];
    struct host h = {NULL, NULL}, other = start(NULL);

    (void)snprintf(path, sizeof path, "lib_run_%d.h5", (int)getpid());
    (void)snprintf(text, sizeof text, "num-samples=4 size=16,16 output=%s", path);
    CHECK(mesoforge_open(&h.session, "threads=1 trust-files") == MESOFORGE_OK);
    gives(&h, "synth", NULL, text, "\"samples\":4");
    gives(&h, "info", path, NULL, "\"samples\":4");
    refuses(&other, "info", path, NULL, MESOFORGE_INPUT, "trust-files");
    CHECK(remove(path) == 0);
    mesoforge_close(h.session);
    mesoforge_close(other.session);
}

int main(void)
{
    draw();
    verbs_print();
    reads_tokens();
    trusts();
    return failures != 0;
}
