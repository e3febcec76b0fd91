/* A refusal keeps its sentence and code; MF_TRY passes it on. Faults fire at the asked visit on the asked rank only. */
#include "src/base/err.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/room.h"
#include "tests/check.h"

static int inner(int code) { return code == MF_OK ? MF_OK : mf_fail(code, "refused %d", code); }

static int outer(int code, int *reached)
{
    MF_TRY(inner(code));
    *reached = 1;
    return MF_OK;
}

static void hook(int code) { _exit(code + 1); }

/* The exit status of a child that dies. */
static int status_of_death(void (*with)(int))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        mf_die_hook(with);
        if (!freopen("/dev/null", "w", stderr)) _exit(99);
        mf_die(MF_BROKEN, "file.c", 7, "for a test");
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_faults(void)
{
    mf_err_rank(1);
    mf_fault_set("site:visit=2:rank=1");
    CHECK(!mf_fault("sit") && !mf_fault("other"));
    CHECK(!mf_fault("site"));
    CHECK(mf_fault("site"));
    CHECK(!mf_fault("site"));
    mf_fault_set("site:visit=2:rank=2");
    CHECK(!mf_fault("site"));
    mf_fault_set(NULL);
    CHECK(!mf_fault("site"));
}

static void *visit(void *fired)
{
    for (int i = 0; i < 1000; ++i) *(int *)fired += mf_fault("site");
    return NULL;
}

/* Visits of all threads count. */
static void test_faults_of_threads(void)
{
    int fired[2] = {0};
    pthread_t other;

    mf_fault_set("site:visit=1500");
    CHECK(pthread_create(&other, NULL, visit, &fired[1]) == 0);
    (void)visit(&fired[0]);
    (void)pthread_join(other, NULL);
    CHECK(fired[0] + fired[1] == 1 && mf_fault_visits() == 2000);
    mf_fault_set(NULL);
}

int main(void)
{
    char big[4 * MF_ERR_TEXT];
    int reached = 0;

    CHECK(strcmp(mf_err_text(), "") == 0);
    CHECK(outer(MF_INPUT, &reached) == MF_INPUT && !reached && strcmp(mf_err_text(), "refused 3") == 0);
    CHECK(outer(MF_OK, &reached) == MF_OK && reached);
    mf_err_clear();
    CHECK(strcmp(mf_err_text(), "") == 0);
    CHECK(mf_fail(MF_INPUT, "no file; try: another") == MF_INPUT);
    mf_err_take(big, sizeof big);
    CHECK(strcmp(big, "no file") == 0 && strcmp(mf_err_text(), "") == 0);
    mf_err_take(big, sizeof big);
    CHECK(*big == '\0');
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    CHECK(mf_fail(MF_USAGE, "%s", big) == MF_USAGE && strlen(mf_err_text()) == MF_ERR_TEXT - 1);
    CHECK(status_of_death(NULL) == MF_BROKEN);
    CHECK(status_of_death(hook) == MF_BROKEN + 1);
    test_faults();
    test_faults_of_threads();
    return failures != 0;
}
