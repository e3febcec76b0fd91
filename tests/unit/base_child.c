/* A program that is started is ended by the signals that ours ignores. */
#include "src/base/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

int main(void)
{
    static const int ours[] = {SIGXFSZ, SIGINT, SIGTERM};
    char *const words[] = {(char[]){"sed"}, (char[]){"-n"}, (char[]){"s/^SigIgn:[^0-9a-f]*//p"},
                           (char[]){"/proc/self/status"}, NULL};
    const struct mf_child child = {.words = words};
    unsigned long long ignored;
    char *said = NULL, *end = NULL;

    for (size_t i = 0; i < sizeof ours / sizeof *ours; ++i) (void)signal(ours[i], SIG_IGN);
    CHECK(mf_child_run(&child, &said) == 0 && said);
    if (!said) return 1;
    ignored = strtoull(said, &end, 16);
    CHECK(end > said && *end == '\n');
    for (size_t i = 0; i < sizeof ours / sizeof *ours; ++i) CHECK((ignored >> (ours[i] - 1) & 1) == 0);
    free(said);
    return failures != 0;
}
