/* Checks the environment's settings of threads. Libraries use them unchecked: with impossible values OpenMP ends the
 * program, or a thread overflows its stack. */
#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/resource.h>

#include "src/base/err.h"
#include "src/session/cores.h"

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
    while (isspace((unsigned char)*unit)) ++unit;
    end = unit + (*unit != '\0');
    if (*unit)
        for (power = 0; units[power] && strncasecmp(unit, units + power, 1) != 0;) ++power;
    while (isspace((unsigned char)*end)) ++end;
    return *end || power > 3 || number > SIZE_MAX >> 10 * power ? 0 : (size_t)number << 10 * power;
}

/* The variable of GCC's OpenMP is the first that it can read (the last one since GCC 13). 0: none. */
static size_t stack_wanted(const char **name)
{
    static const char *const names[] = {"OMP_STACKSIZE", "GOMP_STACKSIZE", "OMP_STACKSIZE_ALL"};
    size_t stack = 0;

    for (size_t i = 0; !stack && i < sizeof names / sizeof *names; ++i) {
        const char *text = getenv(names[i]);

        *name = names[i];
        stack = text ? stack_of(text) : 0;
    }
    return stack;
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
    const char *name;
    const size_t stack = stack_wanted(&name);
    struct rlimit own;

    if (getrlimit(RLIMIT_STACK, &own) == 0 && own.rlim_cur < STACK_LEAST)
        return mf_fail(MF_USAGE, "the stack has %llu KiB, at least %d are needed; try: ulimit -s 8192",
                       (unsigned long long)own.rlim_cur >> 10, STACK_LEAST >> 10);
    if (!stack) return MF_OK;
    if (stack < STACK_LEAST)
        return mf_fail(MF_USAGE, "%s is '%.100s' in the environment: a thread needs at least %d KiB; try: unset %s",
                       name, getenv(name), STACK_LEAST >> 10, name);
    if (!can_start(stack))
        return mf_fail(MF_USAGE,
                       "%s is '%.100s' in the environment: no thread with such a stack can be started; try: unset %s",
                       name, getenv(name), name);
    return MF_OK;
}

int mf_threads_check(void)
{
    MF_TRY(check_number());
    return check_stacks();
}
