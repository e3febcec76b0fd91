/* Texts of files: a zero byte ends what was read; a refusal leaves no buffer. Lists of names end with ", .." where
 * there is no room. */
#include "src/base/text.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "tests/check.h"

static void lists(void)
{
    char text[16] = "", small[16] = "";

    for (int i = 0; i < 9; ++i) {
        mf_enumerate(text, sizeof text, "'%d'", i);
        CHECK(i != 1 || strcmp(text, "'0', '1'") == 0);
    }
    CHECK_SAYS(strcmp(text, "'0', '1', ..") == 0, "%s", text);
    for (int i = 0; i < 2; ++i) mf_enumerate(small, sizeof small, "%s", "a name of many bytes");
    CHECK_SAYS(strcmp(small, "..") == 0 || strcmp(small, ".., ..") == 0, "%s", small);
}

static void durations(void)
{
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {{0.04, "0.0 s"},  {9.94, "9.9 s"}, {25.4, "25 s"}, {150, "2.5 min"},
                {1500, "25 min"}, {9000, "2.5 h"}, {90000, "25 h"}};
    char text[MF_DURATION_TEXT];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        CHECK_SAYS(strcmp(mf_duration_text(rows[i].seconds, text), rows[i].text) == 0, "%s", text);
}

int main(void)
{
    char path[] = "/tmp/mf-text-XXXXXX", *text = path;
    size_t count = 0;
    const int file = mkstemp(path);

    mallopt(M_PERTURB, 0x55); /* fresh memory holds no zeros; sanitizers refuse this and fill memory themselves */
    CHECK(file >= 0 && write(file, "pml = ob1", 9) == 9 && close(file) == 0);
    CHECK(mf_text_load(path, 9, &text, &count) == MF_OK && count == 9 && strlen(text) == 9);
    free(text);
    CHECK(mf_text_load(path, 5, &text, &count) == MF_OK && count == 6 && strlen(text) == 6);
    free(text);
    unlink(path);
    CHECK(mf_text_load(path, 9, &text, &count) == MF_INPUT && !text);
    text = path;
    CHECK(mf_text_load("/", 9, &text, &count) == MF_INPUT && !text); /* it opens, and cannot be read */
    lists();
    durations();
    return failures != 0;
}
