/* A program that is started is ended by the signals that ours ignores. A bad or unknown end is no success. */
#include "src/base/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"

static int status_of(double seconds)
{
    char *const words[] = {(char[]){"false"}, NULL};

    return mf_child_run(&(struct mf_child){.words = words, .seconds = seconds}, NULL);
}

static void ends(void)
{
    CHECK(status_of(0) == 1 && status_of(60) == 1);
    (void)signal(SIGCHLD, SIG_IGN); /* then the system keeps no child's status */
    CHECK(status_of(0) == -2 && errno == ECHILD);
    CHECK(status_of(60) == -2 && errno == ECHILD);
    (void)signal(SIGCHLD, SIG_DFL);
}

/* A signal that comes meanwhile ends the child, not us, and no other is started. */
static void held(void)
{
    char *const words[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"kill -TERM $PPID; exec sleep 60"}, NULL};
    const struct mf_child child = {.words = words};
    char *said = NULL;

    (void)signal(SIGHUP, SIG_IGN);
    mf_child_hold();
    CHECK(mf_child_heard() == 0 && mf_child_stopped() == MF_OK);
    (void)raise(SIGHUP);
    CHECK(mf_child_heard() == 0);
    CHECK(mf_child_run(&child, NULL) == 128 + SIGTERM && mf_child_heard() == SIGTERM);
    CHECK(mf_child_run(&child, &said) == 128 + SIGTERM && !said);
    mf_child_let();
    CHECK(mf_child_stopped() == MF_DEVICE && strstr(mf_err_text(), strsignal(SIGTERM)));
    (void)signal(SIGHUP, SIG_DFL);
}

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
    ends();
    for (size_t i = 0; i < sizeof ours / sizeof *ours; ++i) (void)signal(ours[i], SIG_DFL);
    held();
    return failures != 0;
}
