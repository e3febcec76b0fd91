/* The first line that differs tells two problems apart. A line that follows from others comes last.
 */
#include "src/run/problem.h"

#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"

static const struct mf_problem_word words[] = {
    {"target", 1, "another target"}, {"--steps", 0, "it is shared out"}, {NULL, 0, NULL}};

static void check(const char *saved, const char *wanted, const char *says)
{
    CHECK(mf_problem_same(saved, wanted, words) == MF_INPUT);
    if (strstr(mf_err_text(), says)) return;
    ++failures;
    fprintf(stderr, "'%s' does not say '%s'\n", mf_err_text(), says);
}

/* A checksum, less its last digit. */
#define HASH "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

int main(void)
{
    static const char *const free_lines[] = {"--steps", NULL};
    char text[MF_PROBLEM_TEXT];
    static const char same[] = "target: 1\n--steps: 5\nseed: 3\n";

    CHECK(mf_problem_same(same, same, words) == MF_OK);
    CHECK(mf_problem_same(same, "seed: 3\ntarget: 1\n--steps: 5\n", words) == MF_OK);
    check(same, "target: 1\n--steps: 5\nseed: 4\n", "it says 'seed: 3', this run 'seed: 4'");
    check(same, "target: 2\n--steps: 5\nseed: 4\n", "it says 'seed: 3', this run 'seed: 4'");
    check(same, "target: 2\n--steps: 5\nseed: 3\n",
          "is of another target; try: the input and the options of the stopped run");
    check(same, "target: 2\n--steps: 6\nseed: 3\n", "'--steps: 5', this one has '--steps: 6': it is shared out");
    check(same, "target: 1\n--steps: 5\n", "it says 'seed: 3', this run nothing of it");
    check(same, "target: 1\n--steps: 5\nseed: 3\nmore: 1\n", "it says nothing of it, this run 'more: 1'");
    check("target: 1\n", "target: 2\nmore: 1\n", "it says nothing of it, this run 'more: 1'");
    check("seeds: 3\n", "seed: 3\n", "'seeds: 3'");
    CHECK(!mf_problem_differs(same, "seed: 3\ntarget: 1\n--steps: 9\n", free_lines, text));
    CHECK(mf_problem_differs(same, "target: 1\n", free_lines, text) &&
          !strcmp(text, "it says 'seed: 3', this run nothing of it"));
    CHECK(mf_problem_differs("seed: 3\n", "seed: 3\nmore: 1\n", free_lines, text) &&
          !strcmp(text, "it says nothing of it, this run 'more: 1'"));
    check("dataset: " HASH "0\n", "dataset: " HASH "1\n", "is of a run with another dataset; try");
    check("dataset: " HASH "0\n", "dataset: none\n", "it says 'dataset: 12345678...', this run 'dataset: none'");
    CHECK(mf_problem_differs("dataset: " HASH "0\n", "dataset: " HASH "1\n", free_lines, text) &&
          !strcmp(text, "it has another dataset"));
    CHECK(mf_problem_number(same, "--steps") == 5 && mf_problem_number(same, "steps") == 0);
    return failures != 0;
}
