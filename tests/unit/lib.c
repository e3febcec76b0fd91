/* The library as a host sees it: sessions, threads, forks, and the state of its host after calls. It prints nothing
 * where all is well. */
#include <dirent.h>
#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "tests/unit/lib_host.h"

enum { SESSIONS = SANITIZED ? 200 : 1000, CALLS = 50 };

static void refuses_handles(void)
{
    struct host h = start(NULL), other = start(NULL);
    mesoforge_result *r = NULL;
    mesoforge_session *none = (mesoforge_session *)&h;
    size_t first, count;

    CHECK(mesoforge_characterize(NULL, h.field, NULL, &r) == MESOFORGE_USAGE);
    CHECK(mesoforge_characterize(none, h.field, NULL, &r) == MESOFORGE_USAGE);
    CHECK(mesoforge_characterize(h.session, other.field, NULL, &r) == MESOFORGE_USAGE);
    CHECK(mesoforge_characterize(h.session, NULL, NULL, &r) == MESOFORGE_USAGE);
    CHECK(mesoforge_characterize(h.session, h.field, NULL, NULL) == MESOFORGE_USAGE);
    CHECK(mesoforge_open(NULL, NULL) == MESOFORGE_USAGE);
    CHECK(mesoforge_open_ranks(&none, NULL, NULL) == MESOFORGE_USAGE);
    CHECK(mesoforge_open_ranks(&none, &r, NULL) == MESOFORGE_USAGE && !none);
    CHECK(strstr(mesoforge_last_error()->sentence, "MPI has not begun"));
    CHECK(mesoforge_open(&none, "limit-to=3") == MESOFORGE_USAGE && !none);
    CHECK(mesoforge_open(&none, "threads=-1") == MESOFORGE_USAGE && !none);
    setenv("MF_CUDA_LIBRARY", "/nowhere/libmesoforge_cuda.so", 1);
    CHECK(mesoforge_open(&none, "device=cuda") == MESOFORGE_DEVICE && !none);
    unsetenv("MF_CUDA_LIBRARY");
    CHECK(strcmp(mesoforge_last_error()->advice, "--device cpu") == 0);
    mesoforge_close(other.session);
    CHECK(mesoforge_close(other.session) == MESOFORGE_USAGE);
    CHECK(mesoforge_close(NULL) == MESOFORGE_OK);
    CHECK(mesoforge_slab(h.session, SIZE_MAX, &first, &count) == MESOFORGE_USAGE);
    CHECK(!mesoforge_result_json(NULL) && !mesoforge_result_array(NULL, 0, NULL));
    mesoforge_result_free(NULL);
    mesoforge_close(h.session);
}

struct heard {
    const struct host *host;
    long lines, refused;
    int level;
};

static void hear(void *context, int level, const char *line)
{
    struct heard *heard = context;
    mesoforge_result *r = NULL;

    ++heard->lines;
    heard->level = level;
    CHECK(*line && !strchr(line, '\n'));
    heard->refused += mesoforge_characterize(heard->host->session, heard->host->field, NULL, &r) == MESOFORGE_USAGE;
}

static void tells_its_host(void)
{
    struct host h = start(NULL);
    struct heard heard = {.host = &h};

    CHECK(mesoforge_on_log(h.session, hear, &heard) == MESOFORGE_OK);
    mesoforge_result_free(measure(&h, "limit-to=5"));
    CHECK(heard.lines > 0 && heard.refused == heard.lines && heard.level >= 10 && heard.level <= 30);
    CHECK(mesoforge_on_log(h.session, NULL, NULL) == MESOFORGE_OK);
    heard.lines = 0;
    mesoforge_result_free(measure(&h, "limit-to=5"));
    CHECK(heard.lines == 0);
    mesoforge_close(h.session);
}

static long threads_now(void)
{
    DIR *tasks = opendir("/proc/self/task");
    long n = -2;

    while (tasks && readdir(tasks)) ++n;
    if (tasks) (void)closedir(tasks);
    return n;
}

static void many_sessions(void)
{
    const long before = threads_now();

    for (int i = 0; i < SESSIONS; ++i) {
        mesoforge_session *session;

        CHECK(mesoforge_open(&session, i % 20 ? "threads=1 deterministic" : "threads=2") == MESOFORGE_OK);
        CHECK(mesoforge_close(session) == MESOFORGE_OK);
    }
    for (int wait = 0; threads_now() > before && wait < 100; ++wait) nanosleep(&(struct timespec){0, 10000000}, NULL);
    CHECK_SAYS(threads_now() == before, "%ld threads, and %ld before", threads_now(), before);
}

static void *work(void *wanted)
{
    for (int i = 0; i < 5; ++i) {
        struct host h = start(NULL);
        mesoforge_result *r = measure(&h, "limit-to=6");

        CHECK(same_arrays(wanted, r));
        mesoforge_result_free(r);
        mesoforge_close(h.session);
    }
    return NULL;
}

static void threads_with_sessions(void)
{
    struct host h = start(NULL);
    mesoforge_result *r = measure(&h, "limit-to=6");
    pthread_t thread[4];

    for (int i = 0; i < 4; ++i) CHECK(pthread_create(&thread[i], NULL, work, r) == 0);
    for (int i = 0; i < 4; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
    mesoforge_result_free(r);
    mesoforge_close(h.session);
}

/* The child may not use its parent's session, and may open one. */
static void forked(void)
{
    struct host h = start(NULL);
    mesoforge_result *r = NULL;
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        int bad = mesoforge_characterize(h.session, h.field, NULL, &r) != MESOFORGE_USAGE;
        struct host own = start(NULL);

        bad |= mesoforge_characterize(own.session, own.field, NULL, &r) != MESOFORGE_OK;
        _exit(bad);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    mesoforge_close(h.session);
}

/* The same of a child that a callback makes. */
static void fork_once(void *context, int level, const char *line)
{
    pid_t *child = context;

    (void)level, (void)line;
    if (*child >= 0) return;
    *child = fork();
    if (*child == 0) {
        struct host own = start(NULL);

        mesoforge_result_free(measure(&own, "limit-to=5"));
        _exit(failures > 0);
    }
}

static void forked_inside(void)
{
    struct host h = start(NULL);
    pid_t child = -1;
    int status = -1;

    CHECK(mesoforge_on_log(h.session, fork_once, &child) == MESOFORGE_OK);
    mesoforge_result_free(measure(&h, "limit-to=5"));
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    mesoforge_close(h.session);
}

/* Is the arithmetic of the host as it was: are tiny numbers no zeros? */
static int rounds_as(unsigned control)
{
#ifdef __SSE2__
    return (_mm_getcsr() & 0x8040) == (control & 0x8040);
#else
    return (int)control == 0;
#endif
}

static void check_host(int threads, unsigned control)
{
    CHECK(rounds_as(control));
    CHECK(omp_get_max_threads() == threads);
    CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
}

/* The thread of the host has its arithmetic, its number of threads and its locale after every call. */
static void leaves_its_host(void)
{
    const int before = omp_get_max_threads();
    unsigned control = 0;
    struct host h;

#ifdef __SSE2__
    control = _mm_getcsr();
#endif
    omp_set_num_threads(3);
    h = start(NULL);
    check_host(3, control);
    mesoforge_result_free(measure(&h, "limit-to=6"));
    check_host(3, control);
    mesoforge_close(h.session);
    check_host(3, control);
    omp_set_num_threads(before);
}

#ifndef __SANITIZE_ADDRESS__ /* it needs addresses of its own */
static void tell(void *context, const char *line)
{
    if (write(*(const int *)context, line, strlen(line)) < 0) _exit(1);
}

/* The library has no memory for the words of its options. */
static _Noreturn void break_it(int file)
{
    static char blanks[1 << 22];
    struct host h = start(NULL);
    mesoforge_result *r;

    memset(blanks, ' ', sizeof blanks - 1);
    mesoforge_on_broken(tell, &file);
    CHECK(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) == 0 && setrlimit(RLIMIT_AS, &(struct rlimit){1, 1}) == 0);
    (void)mesoforge_characterize(h.session, h.field, blanks, &r);
    _exit(1);
}

/* Where the library breaks, the host gets one line, and then the process ends by abort(). */
static void tells_what_broke(void)
{
    char line[256] = "";
    int ends[2], status = 0;
    pid_t child;

    CHECK(pipe(ends) == 0);
    child = fork();
    if (child == 0) break_it(ends[1]);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    close(ends[1]);
    CHECK(read(ends[0], line, sizeof line - 1) > 0 && strstr(line, "memory") && strchr(line, '\n'));
    close(ends[0]);
}
#endif

static double processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Times a call that is refused behind its options, and a small one. Sanitizers take longer. */
static void calls_are_cheap(void)
{
    struct host h = start(NULL);
    mesoforge_result *r;
    double begin = processor_time(), refused, done;

    for (int i = 0; i < CALLS; ++i) (void)mesoforge_characterize(h.session, h.field, "labels=3,4", &r);
    refused = (processor_time() - begin) / CALLS;
    begin = processor_time();
    for (int i = 0; i < CALLS; ++i) mesoforge_result_free(measure(&h, "limit-to=2 no_multigrid_descriptor"));
    done = (processor_time() - begin) / CALLS;
    if (getenv("MF_LIB_TIMES")) printf("a refused call %.0f us, a small one %.0f us\n", 1e6 * refused, 1e6 * done);
#ifndef __SANITIZE_ADDRESS__
    CHECK_SAYS(refused < 1e-3, "a refused call takes %g s", refused);
#endif
    mesoforge_close(h.session);
}

int main(void)
{
    draw();
    CHECK(mesoforge_abi() == MESOFORGE_ABI && *mesoforge_version() && *mesoforge_mpi_version());
    CHECK(mesoforge_last_error()->code == MESOFORGE_OK);
    many_sessions();
    refuses_handles();
    tells_its_host();
    threads_with_sessions();
    forked();
    forked_inside();
    leaves_its_host();
#ifndef __SANITIZE_ADDRESS__
    tells_what_broke();
#endif
    calls_are_cheap();
    return failures != 0;
}
