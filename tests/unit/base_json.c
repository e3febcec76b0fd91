/* JSON: numbers read back to the same bits, the order of arrays is kept, and text is escaped. A NaN is a bug, a full
 * disk a refusal.
 */
#include "src/base/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/err.h"
#include "tests/check.h"

static char *text_of(const struct mf_json *value)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    CHECK(to && mf_json_write(value, to) == MF_OK);
    if (to) fclose(to);
    return text;
}

static int status_of_nan(double value)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(99);
        mf_die_hook(_exit); /* no leak report of a child that dies on purpose */
        mf_json_real(mf_json_array(), NULL, value);
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_numbers(void)
{
    static const double values[] = {0.1, 1.0 / 3, 1e300, 5e-324, -0.0, 2, 123456789.123456789};

    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
        struct mf_json *array = mf_json_array();
        char *text;
        double got;

        mf_json_real(array, NULL, values[i]);
        text = text_of(array);
        got = strtod(text + 1, NULL);
        CHECK(memcmp(&got, &values[i], sizeof got) == 0);
        CHECK(strpbrk(text, ".eE") != NULL);
        free(text);
        mf_json_free(array);
    }
}

/* The type of a value decides what it becomes; what is not finite, and what is not there, is null. */
static void test_members(void)
{
    struct mf_json *one = mf_json_object(), *inner = mf_json_array();
    const char *name = "x";
    char *text;

    MF_JSON(one, "a", 1, "b", (size_t)2, "c", 0.5, "d", name, "e", inner, "f", -3L);
    mf_json_finite(one, "g", 1.0 / 0.0);
    mf_json_finite(one, "h", 0.25);
    mf_json_some(one, "i", "");
    mf_json_some(one, "j", name);
    text = text_of(one);
    CHECK(text && strcmp(text, "{\"a\":1,\"b\":2,\"c\":0.5,\"d\":\"x\",\"e\":[],\"f\":-3,\"g\":null,\"h\":0.25,"
                               "\"i\":null,\"j\":\"x\"}\n") == 0);
    CHECK(mf_json_get_int(one, "f") == -3 && strcmp(mf_json_get_text(one, "d"), "x") == 0);
    CHECK(mf_json_get_real(one, "c") == 0.5 && mf_json_get_real(one, "z") == 0);
    free(text);
    mf_json_free(one);
}

int main(void)
{
    static const double table[] = {1, 2, 3, 4, 5, 6};
    struct mf_json *object = mf_json_object(), *inner = mf_json_object();
    FILE *full = fopen("/dev/full", "w");
    char *text;

    mf_json_text(object, "file", "a\"b\n\xe9");
    mf_json_int(object, "n", -7);
    mf_json_bool(object, "yes", 1);
    mf_json_null(object, "none");
    mf_json_table(object, "t", table, 2, 3);
    mf_json_reals(inner, "r", table, 1);
    mf_json_put(object, "in", inner);
    text = text_of(object);
    CHECK(strcmp(text, "{\"file\":\"a\\\"b\\n\xc3\xa9\",\"n\":-7,\"yes\":true,\"none\":null,"
                       "\"t\":[[1.0,2.0,3.0],[4.0,5.0,6.0]],\"in\":{\"r\":[1.0]}}\n") == 0);
    free(text);
    if (full) {
        CHECK(mf_json_write(object, full) == MF_OUTPUT && strstr(mf_err_text(), "space"));
        fclose(full);
    }
    mf_json_free(object);
    test_members();
    test_numbers();
    CHECK(status_of_nan(NAN) == MF_BROKEN && status_of_nan(INFINITY) == MF_BROKEN && status_of_nan(1) == 0);
    return failures != 0;
}
