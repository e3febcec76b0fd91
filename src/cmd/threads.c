/* What the environment says of threads. Libraries take it as it is: where it cannot be, OpenMP ends the program, or a
 * thread falls off its stack. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/resource.h>

#include "src/base/err.h"
#include "src/cmd/cmd.h"

/* Runs fell off stacks of 64 KiB in threads and of 128 in the first one; none off 192. */
enum { STACK_LEAST = 256 << 10 };

static int check_number(void)
{
    const char *omp = getenv("OMP_NUM_THREADS");

    if (!omp || strtol(omp, NULL, 10) <= MF_THREADS_MOST) return MF_OK;
    return mf_fail(MF_USAGE, "OMP_NUM_THREADS is '%.100s' in the environment: at most %d threads are possible", omp,
                   MF_THREADS_MOST);
}

/* Bytes, as OpenMP reads them: of KiB where no unit stands behind the number; 0: nothing that it would take. */
static size_t stack_of(const char *text)
{
    static const char units[] = "BKMG";
    char *unit, *end;
    const unsigned long long number = strtoull(text, &unit, 10);
    size_t power = 1;

    if (unit == text) return 0;
    while (*unit == ' ') ++unit;
    end = unit + (*unit != '\0');
    if (*unit)
        for (power = 0; units[power] && strncasecmp(unit, units + power, 1) != 0;) ++power;
    while (*end == ' ') ++end;
    return *end || power > 3 || number > SIZE_MAX >> 10 * power ? 0 : (size_t)number << 10 * power;
}

static void *do_nothing(void *context) { return context; }

static int can_start(size_t stack)
{
    pthread_attr_t with;
    pthread_t thread;
    int can;

    pthread_attr_init(&with);
    can = pthread_attr_setstacksize(&with, stack) == 0 && pthread_create(&thread, &with, do_nothing, NULL) == 0;
    if (can) (void)pthread_join(thread, NULL);
    pthread_attr_destroy(&with);
    return can;
}

static int check_stacks(void)
{
    const char *omp = getenv("OMP_STACKSIZE");
    const size_t stack = omp ? stack_of(omp) : 0;
    struct rlimit own;

    if (getrlimit(RLIMIT_STACK, &own) == 0 && own.rlim_cur < STACK_LEAST)
        return mf_fail(MF_USAGE, "the stack has %llu KiB, at least %d are needed; try: ulimit -s 8192",
                       (unsigned long long)own.rlim_cur >> 10, STACK_LEAST >> 10);
    if (!stack) return MF_OK;
    if (stack < STACK_LEAST)
        return mf_fail(MF_USAGE,
                       "OMP_STACKSIZE is '%.100s' in the environment: a thread needs at least %d KiB; try: unset "
                       "OMP_STACKSIZE",
                       omp, STACK_LEAST >> 10);
    if (!can_start(stack))
        return mf_fail(MF_USAGE,
                       "OMP_STACKSIZE is '%.100s' in the environment: no thread with such a stack can be started; try: "
                       "unset OMP_STACKSIZE",
                       omp);
    return MF_OK;
}

int mf_threads_check(void)
{
    MF_TRY(check_number());
    return check_stacks();
}
