/* Slurm's short forms are written out as Slurm does it. Other forms, and far too long ones, are refused. */
#include "slurm/nodelist.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"

static void names(const char *text, const char *want)
{
    struct mf_words got = {0};
    char all[512] = "";

    CHECK(mf_nodelist_names(text, &got) == MF_OK);
    for (size_t i = 0; i < got.count; ++i) {
        strcat(all, i ? " " : "");
        strcat(all, got.at[i]);
    }
    if (strcmp(all, want) != 0) fprintf(stderr, "%s: %s\n", text, all);
    CHECK(strcmp(all, want) == 0);
    mf_words_free(&got);
}

static void tasks(const char *text, size_t n, const long *want)
{
    long *got = NULL;
    size_t count = 0;

    CHECK(mf_nodelist_tasks(text, &got, &count) == MF_OK && count == n);
    for (size_t i = 0; i < count && i < n; ++i) CHECK(got[i] == want[i]);
    free(got);
}

static void slots(const char *text, size_t n, const char *last, long want)
{
    struct mf_words got = {0};
    long *ranks = NULL;

    CHECK(mf_nodelist_slots(text, &got, &ranks) == MF_OK && got.count == n);
    CHECK(n == got.count && strcmp(got.at[n - 1], last) == 0 && ranks[n - 1] == want);
    mf_words_free(&got);
    free(ranks);
}

static void hosts(void)
{
    static const char *const bad[] = {"",    ",",   "a,", ":4",  "a:",      "a:0", "a:4x",
                                      "a:b", "a b", "-a", "a,a", "a:65537", "a/b"};

    slots("a:4,b:4", 2, "b", 4);
    slots("node-1.cluster", 1, "node-1.cluster", 1);
    slots("a,b_2:16,c", 3, "c", 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        struct mf_words got = {0};
        long *ranks = NULL;

        CHECK(mf_nodelist_slots(bad[i], &got, &ranks) == MF_USAGE);
        mf_words_free(&got);
        free(ranks);
    }
}

static void refused(void)
{
    static const char *const lists[] = {"",
                                        ",",
                                        "a,",
                                        ",a",
                                        "a,,b",
                                        "n[",
                                        "n]",
                                        "n[]",
                                        "n[1",
                                        "n[1-]",
                                        "n[-1]",
                                        "n[1,]",
                                        "n[,1]",
                                        "n[1-2-3]",
                                        "n[a]",
                                        "n[2-1]",
                                        "n[[1]]",
                                        "n[1]]",
                                        "n 1",
                                        "n\n",
                                        "n[1 ]",
                                        "n[0x1]",
                                        "n[1-65537]",
                                        "n[0-999][0-999]",
                                        "n[1-99999999999]",
                                        "n[0-255][0-255],m",
                                        "[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]"};
    static const char *const counts[] = {"",
                                         ",",
                                         "2,",
                                         "x",
                                         "2(x)",
                                         "2(x0)",
                                         "2(3)",
                                         "2(x3",
                                         "-1",
                                         "2(x99999999999999999999)",
                                         "99999999999999999999",
                                         "2 ",
                                         "2(x-3)",
                                         "1(x65536),1"};
    char long_name[600];
    long *got = NULL;
    size_t count = 0;

    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    for (size_t i = 0; i <= sizeof lists / sizeof *lists; ++i) {
        struct mf_words none = {0};
        const char *text = i < sizeof lists / sizeof *lists ? lists[i] : long_name;

        int rc = mf_nodelist_names(text, &none);

        if (rc != MF_INPUT) fprintf(stderr, "taken: '%s'\n", text);
        CHECK(rc == MF_INPUT);
        mf_words_free(&none);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        if (mf_nodelist_tasks(counts[i], &got, &count) != MF_INPUT) fprintf(stderr, "taken: '%s'\n", counts[i]);
        CHECK(mf_nodelist_tasks(counts[i], &got, &count) == MF_INPUT && got == NULL);
    }
}

/* Any bytes: an answer or a refusal, and no more names than there can be. */
static void noise(void)
{
    static const char letters[] = "n[],-019(x)";
    unsigned int state = 7;

    for (int i = 0; i < (SANITIZED ? 1000 : 20000); ++i) {
        struct mf_words got = {0};
        char text[24];
        long *each = NULL;
        size_t n = 0, count = 0;

        for (; n < sizeof text - 1; ++n) {
            state = state * 1664525u + 1013904223u;
            text[n] = letters[(state >> 24) % (sizeof letters)]; /* its end among them */
        }
        text[n] = '\0';
        (void)mf_nodelist_names(text, &got);
        CHECK(got.count <= MF_NODES_MOST);
        mf_words_free(&got);
        if (mf_nodelist_tasks(text, &each, &count) == MF_OK) free(each);
    }
}

int main(void)
{
    hosts();
    names("vn1", "vn1");
    names("n[001-003,7],gpu-[1-2]-x", "n001 n002 n003 n7 gpu-1-x gpu-2-x");
    names("r[1-2]n[08-10]", "r1n08 r1n09 r1n10 r2n08 r2n09 r2n10");
    names("a[9-11],b,c[5]", "a9 a10 a11 b c5");
    tasks("2(x3),1", 4, (const long[]){2, 2, 2, 1});
    tasks("4", 1, (const long[]){4});
    tasks("1,0,3(x2)", 4, (const long[]){1, 0, 3, 3});
    refused();
    noise();
    return failures != 0;
}
