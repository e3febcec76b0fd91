/* Models that stay loaded: their answers are those of the verb, and what is wrong is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/lib_host.h"

enum { EDGE = 16, IMAGES = 5, MANY = 40000 };

static uint8_t stack[IMAGES][EDGE][EDGE];
static float grown[EDGE][2 * EDGE]; /* image 1, with a gap behind every pixel */
static char folder[64], model_path[96], language[64];

static void fill(void)
{
    draw();
    for (int k = 0; k < IMAGES; ++k)
        for (int y = 0; y < EDGE; ++y)
            for (int x = 0; x < EDGE; ++x) stack[k][y][x] = image[y + 3 * k][x + 2 * k];
    for (int y = 0; y < EDGE; ++y)
        for (int x = 0; x < EDGE; ++x) grown[y][2 * x] = stack[1][y][x];
}

static struct mesoforge_array images(const void *data, int ndim)
{
    struct mesoforge_array a = {.type = "u1", .ndim = ndim, .data = data};
    const size_t shape[] = {IMAGES, EDGE, EDGE};

    for (int i = 0; i < ndim; ++i) a.shape[i] = shape[3 - ndim + i];
    a.stride[ndim - 1] = 1;
    a.stride[ndim - 2] = EDGE;
    if (ndim == 3) a.stride[0] = (ptrdiff_t)EDGE * EDGE;
    return a;
}

static void lend(mesoforge_session *s, const char *name, struct mesoforge_array array)
{
    mesoforge_field *field;

    CHECK(mesoforge_field_array(s, name, &array, &field) == MESOFORGE_OK);
}

static void lend_all(mesoforge_session *s)
{
    struct mesoforge_array strided = images(grown, 2), many = images(stack, 3);

    strided.type = "f4";
    strided.stride[0] = 2 * EDGE * (ptrdiff_t)sizeof **grown;
    strided.stride[1] = 2 * (ptrdiff_t)sizeof **grown;
    many.shape[0] = MANY; /* all of them are one */
    many.stride[0] = 0;
    lend(s, "stack", images(stack, 3));
    lend(s, "one", images(stack[1], 2));
    lend(s, "many", many);
    lend(s, "grown", strided);
}

static void run(mesoforge_session *s, const char *verb, const char *options)
{
    mesoforge_result *r = NULL;

    CHECK_SAYS(mesoforge_run(s, verb, NULL, options, &r) == MESOFORGE_OK, "%s", mesoforge_last_error()->sentence);
    mesoforge_result_free(r);
}

static void train(mesoforge_session *s)
{
    char text[256];

    (void)snprintf(folder, sizeof folder, "lib_model_%d", (int)getpid());
    (void)snprintf(text, sizeof text, "num-samples=24 size=16,16 output=%s.h5", folder);
    run(s, "synth", text);
    (void)snprintf(text, sizeof text, "data=%s.h5 arch=mlp epochs=1 results-dir=%s", folder, folder);
    run(s, "train classify", text);
    (void)snprintf(model_path, sizeof model_path, "%s/model.safetensors", folder);
}

static mesoforge_model *load(mesoforge_session *s, const char *options)
{
    mesoforge_model *m = NULL;

    CHECK_SAYS(mesoforge_model_load(s, model_path, options, &m) == MESOFORGE_OK && m, "%s",
               mesoforge_last_error()->sentence);
    return m;
}

static mesoforge_result *predict(mesoforge_session *s, mesoforge_model *m, const char *inputs)
{
    mesoforge_result *r = NULL;

    CHECK_SAYS(mesoforge_model_predict(s, m, inputs, "labels=0,1", &r) == MESOFORGE_OK && r, "%s: %s", inputs,
               mesoforge_last_error()->sentence);
    return r;
}

/* The list of predictions in an object; the caller frees. */
static char *said(mesoforge_result *r)
{
    const char *from = strstr(mesoforge_result_json(r), "\"predictions\""),
               *to = from ? strstr(from, "\"refused\"") : 0;

    CHECK(from && to);
    return strndup(from ? from : "", to ? (size_t)(to - from) : 0);
}

static const float *shares(const mesoforge_result *r, size_t n)
{
    struct mesoforge_array a = {.type = ""};

    CHECK(mesoforge_result_array(r, 0, &a) && strcmp(a.name, "probabilities") == 0 && strcmp(a.type, "f4") == 0);
    CHECK(a.ndim == 2 && a.shape[0] == n && a.shape[1] >= 2 && strcmp(a.axes, "image class") == 0);
    CHECK(!mesoforge_result_array(r, 1, &a));
    return a.data;
}

/* Two calls have the verb's bits, however the array lies. */
static void answers(mesoforge_session *s)
{
    mesoforge_model *m = load(s, "batch-size=3");
    mesoforge_result *all = predict(s, m, "@stack"), *two = predict(s, m, "@one @grown"), *verb = NULL;
    const float *share = shares(all, IMAGES), *other = shares(two, 2);
    struct mesoforge_array a;
    char inputs[160], *own, *want;

    CHECK(mesoforge_result_array(all, 0, &a));
    for (size_t k = 0; k < a.shape[1]; ++k)
        CHECK(share[a.shape[1] + k] == other[k] && other[k] == other[a.shape[1] + k]);
    (void)snprintf(inputs, sizeof inputs, "%s @one @grown", model_path);
    CHECK(mesoforge_run(s, "infer classify", inputs, "labels=0,1 batch-size=3", &verb) == MESOFORGE_OK);
    own = said(two);
    want = said(verb);
    CHECK_SAYS(strcmp(own, want) == 0, "%s, and the verb %s", own, want);
    CHECK_SAYS(strstr(mesoforge_model_json(m), "\"host\":") && strstr(mesoforge_model_json(m), ":\"cpu\"}"), "%s",
               mesoforge_model_json(m));
    free(own);
    free(want);
    mesoforge_result_free(verb);
    CHECK(mesoforge_model_free(s, m) == MESOFORGE_OK && mesoforge_model_free(s, NULL) == MESOFORGE_OK);
    CHECK(shares(all, IMAGES)[0] == share[0]);
    mesoforge_result_free(all);
    mesoforge_result_free(two);
}

static void says(int rc, int code, const char *part)
{
    const struct mesoforge_error *error = mesoforge_last_error();

    CHECK_SAYS(rc == code && (strstr(error->sentence, part) || strstr(error->advice, part)), "%d: %s; %s", rc,
               error->sentence, error->advice);
}

static int stop(void *context, const char *what, double share)
{
    (void)context, (void)what, (void)share;
    return 0;
}

static void refuses(mesoforge_session *s, mesoforge_session *other)
{
    mesoforge_model *m = load(s, NULL), *none = NULL;
    mesoforge_result *r = NULL;

    says(mesoforge_model_load(s, NULL, NULL, &none), MESOFORGE_USAGE, "no path");
    says(mesoforge_model_load(s, model_path, NULL, NULL), MESOFORGE_USAGE, "no place");
    says(mesoforge_model_load(NULL, model_path, NULL, &none), MESOFORGE_USAGE, "no open session");
    says(mesoforge_model_load(s, "nowhere", NULL, &none), MESOFORGE_INPUT, "cannot open 'nowhere'");
    says(mesoforge_model_load(s, model_path, "labels=0,1", &none), MESOFORGE_USAGE, "where the model is asked");
    says(mesoforge_model_load(s, model_path, "batch-size=0", &none), MESOFORGE_USAGE, "at least 1");
    says(mesoforge_model_load(s, model_path, "pp=2", &none), MESOFORGE_USAGE, "do not divide 1 rank");
    CHECK(!none && !mesoforge_model_json(NULL));
    says(mesoforge_model_predict(s, NULL, "@one", NULL, &r), MESOFORGE_USAGE, "no model of the session");
    says(mesoforge_model_predict(other, m, "@one", NULL, &r), MESOFORGE_USAGE, "no model of the session");
    says(mesoforge_model_free(other, m), MESOFORGE_USAGE, "no model of the session");
    says(mesoforge_model_generate(s, m, NULL, NULL, &r), MESOFORGE_USAGE, "makes nothing");
    says(mesoforge_model_predict(s, m, "@one", NULL, NULL), MESOFORGE_USAGE, "no place");
    says(mesoforge_model_predict(s, m, NULL, NULL, &r), MESOFORGE_USAGE, "no image");
    says(mesoforge_model_predict(s, m, "@one", "batch-size=2", &r), MESOFORGE_USAGE, "is an option of loading");
    says(mesoforge_model_predict(s, m, "@one", "label=0,1", &r), MESOFORGE_USAGE, "--labels");
    says(mesoforge_model_predict(s, m, "@image", NULL, &r), MESOFORGE_INPUT, "cannot open '@image'");
    lend(s, "small",
         (struct mesoforge_array){.type = "u1", .ndim = 2, .shape = {8, 8}, .stride = {8, 1}, .data = image});
    says(mesoforge_model_predict(s, m, "@small", NULL, &r), MESOFORGE_INPUT, "[1 8 8]");
    CHECK(mesoforge_on_progress(s, stop, NULL) == MESOFORGE_OK);
    says(mesoforge_model_predict(s, m, "@many", NULL, &r), MESOFORGE_STOPPED, "stopped");
    CHECK(!r && mesoforge_on_progress(s, NULL, NULL) == MESOFORGE_OK);
    mesoforge_result_free(predict(s, m, "@stack"));
    CHECK(mesoforge_model_free(s, m) == MESOFORGE_OK);
    says(mesoforge_model_predict(s, m, "@one", NULL, &r), MESOFORGE_USAGE, "no model of the session");
}

/* A folder with the weights of the fixtures, and a tokenizer of three tokens. */
static void make_language(const char *fixture)
{
    static const char tokenizer[] =
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}}";
    static const char *const files[] = {"config.json", "model.safetensors"};
    char from[512], to[128];
    FILE *file;

    (void)snprintf(language, sizeof language, "lib_model_text_%d", (int)getpid());
    CHECK(mkdir(language, 0700) == 0);
    for (int k = 0; k < 2; ++k) {
        (void)snprintf(from, sizeof from, "%s/%s", fixture, files[k]);
        (void)snprintf(to, sizeof to, "%s/%s", language, files[k]);
        CHECK(symlink(from, to) == 0);
    }
    (void)snprintf(to, sizeof to, "%s/tokenizer.json", language);
    file = fopen(to, "w");
    CHECK(file && fputs(tokenizer, file) >= 0 && fclose(file) == 0);
}

/* The list of texts in an object; the caller frees. */
static char *texts(mesoforge_result *r)
{
    const char *from = r ? strstr(mesoforge_result_json(r), "\"results\"") : NULL,
               *to = from ? strchr(from, ']') : NULL;
    char *list = strndup(from ? from : "", to ? (size_t)(to - from) : 0);

    CHECK(from && to);
    mesoforge_result_free(r);
    return list;
}

/* Two calls continue a text alike, also behind one that is refused. */
static void continues(mesoforge_session *s)
{
    mesoforge_model *m = NULL;
    mesoforge_result *r = NULL;
    char *first, *second;

    says(mesoforge_model_load(s, language, "context=12 requests=2", &m), MESOFORGE_OK, "");
    says(mesoforge_model_generate(s, m, "abba 'a b'", "max-new-tokens=3", &r), MESOFORGE_OK, "");
    first = texts(r);
    says(mesoforge_model_generate(s, m, "ab", "max-new-tokens=30", &r), MESOFORGE_USAGE, "room for");
    says(mesoforge_model_generate(s, m, NULL, NULL, &r), MESOFORGE_USAGE, "no text");
    says(mesoforge_model_predict(s, m, "@one", NULL, &r), MESOFORGE_USAGE, "predicts nothing");
    says(mesoforge_model_generate(s, m, "abba 'a b'", "max-new-tokens=3", &r), MESOFORGE_OK, "");
    second = texts(r);
    CHECK_SAYS(*first && strcmp(first, second) == 0, "%s, then %s", first, second);
    free(first);
    free(second);
}

static void tidy(void)
{
    char text[256];

    (void)snprintf(text, sizeof text, "rm -r %s %s.h5 %s", folder, folder, language);
    CHECK(system(text) == 0);
}

int main(int argc, char **argv)
{
    mesoforge_session *s, *other;

    fill();
    CHECK(mesoforge_open(&s, "device=cpu threads=1 trust-files") == MESOFORGE_OK);
    CHECK(mesoforge_open(&other, "device=cpu threads=1") == MESOFORGE_OK);
    lend_all(s);
    train(s);
    answers(s);
    refuses(s, other);
    make_language(argc > 1 ? argv[1] : "");
    continues(s);
    (void)load(s, NULL); /* ends with its session */
    CHECK(mesoforge_close(s) == MESOFORGE_OK && mesoforge_close(other) == MESOFORGE_OK);
    tidy();
    return failures != 0;
}
