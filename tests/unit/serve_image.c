/* Requests of /predict: images as files, as base64, as rows of numbers. Others are refused by one sentence. Whatever
 * comes, nothing crashes. Argument: changed requests of each kind. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/serve/dialect.h"
#include "tests/check.h"
#include "tests/unit/mutate.h"

static const struct mf_served served = {.model = "cnn", .kind = MF_ASK_ANSWER, .batch = 2};
static const struct mf_route *route;

static int read(const char *body, size_t bytes, struct mf_ask *ask)
{
    return mf_route_read(route, &served, body, bytes, ask);
}

static const struct {
    const char *body;
    size_t prompts;
    const char *name; /* of the last image, and its bytes */
    size_t bytes;
} reads[] = {
    {"{\"image\":[[0,1],[1,0.5]]}", 1, "image", 128 + 32},
    {" {\"image\":[[[0],[1]]],\"name\":\"a\"}", 1, "a", 128 + 16},
    {"{\"images\":[[[0,1]],\"data:image/png;base64,QUJDRA==\"],\"names\":[\"a\",\"b\"]}", 2, "b", 4},
    {"{\"images\":[\"QUJD\",\"QUI\"]}", 2, "image 1", 2},
    {"rubbish", 1, "image", 7},
};

static void check_reads(long changes)
{
    for (size_t i = 0; i < sizeof reads / sizeof *reads; ++i) {
        const size_t bytes = strlen(reads[i].body);
        const struct mf_ask_prompt *last;
        char body[256];
        struct mf_ask ask;

        CHECK_SAYS(read(reads[i].body, bytes, &ask) == 0, "%s: %s", reads[i].body, mf_err_text());
        last = &ask.prompt[ask.prompts - 1];
        CHECK(ask.prompts == reads[i].prompts && ask.kind == MF_ASK_ANSWER);
        CHECK_SAYS(strcmp(last->name, reads[i].name) == 0 && last->image.count == reads[i].bytes, "%s: %s of %zu bytes",
                   reads[i].body, last->name, last->image.count);
        mf_ask_free(&ask);
        for (long k = 0; k < changes; ++k) {
            memcpy(body, reads[i].body, bytes);
            CHECK((read(body, mutate(body, bytes), &ask) == 0) == (ask.prompts > 0 && ask.prompt[0].name) ||
                  *mf_err_text());
            mf_ask_free(&ask);
        }
    }
}

static void check_numbers(void)
{
    const char body[] = "{\"image\":[[0,1],[1,0.5]]}";
    const double want[] = {0, 1, 1, 0.5};
    struct mf_ask ask;

    CHECK(read(body, sizeof body - 1, &ask) == 0 && memcmp(ask.prompt->image.at, "\x93NUMPY", 6) == 0);
    CHECK(memcmp(ask.prompt->image.at + 128, want, sizeof want) == 0);
    mf_ask_free(&ask);
}

static void check_refusal(int status, const char *body, const char *says)
{
    struct mf_ask ask;
    const int rc = read(body, strlen(body), &ask);

    CHECK_SAYS(rc == status && strstr(mf_err_text(), says), "%.60s: %d %s", body, rc, mf_err_text());
    mf_ask_free(&ask);
}

static void check_refusals(void)
{
    char *many = calloc(1, 3000000);

    check_refusal(400, "", "it must be an image, or JSON");
    check_refusal(400, "{", "not JSON");
    check_refusal(422, "{\"image\":\"QUJD?\"}", "not base64");
    check_refusal(422, "{\"image\":\"QUJDR\"}", "not base64");
    check_refusal(422, "{\"image\":[[0,1],[1]]}", "not of rows of numbers");
    check_refusal(422, "{\"image\":[[[[[0]]]]]}", "at most 4 axes");
    check_refusal(422, "{\"images\":[[[0]],[[0]],[[0]]]}", "1 to 2 images");
    check_refusal(422, "{\"image\":[[0]],\"names\":[\"a\"]}", "'name'");
    if (!many) return;
    strcpy(many, "{\"image\":[");
    for (size_t at = strlen(many), k = 0; k < 1100000; ++k, at += 2) memcpy(many + at, "0,", 2);
    check_refusal(413, many, "more than 1048576 numbers");
    free(many);
}

int main(int argc, char **argv)
{
    void (*error)(int, const char *, int, struct mf_bytes *);
    const char *allowed;
    int status;

    NEEDS(1, "CHANGES");
    route = mf_route_find(&served, ~0u, "POST", "/predict", &status, &allowed, &error);
    CHECK(route);
    check_reads(strtol(argv[1], NULL, 10));
    check_numbers();
    check_refusals();
    return failures != 0;
}
