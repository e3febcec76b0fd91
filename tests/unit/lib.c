/* The library as a host sees it: sessions, fields, options, results, refusals. It prints nothing where all is well. */
#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "include/mesoforge.h"
#include "tests/check.h"

enum { N = 40, SESSIONS = 200, CALLS = 50 };

static uint8_t image[N][N];

static void draw(void)
{
    for (int y = 0; y < N; ++y)
        for (int x = 0; x < N; ++x) image[y][x] = sin(0.5 * x + 0.3 * y) + cos(0.4 * y - 0.2 * x) > 0.2;
}

static struct mesoforge_array of(const void *data, const char *type, ptrdiff_t down, ptrdiff_t along)
{
    return (struct mesoforge_array){.type = type, .ndim = 2, .shape = {N, N}, .stride = {down, along}, .data = data};
}

/* A session with one thread and the field "image". */
struct host {
    mesoforge_session *session;
    mesoforge_field *field;
};

static struct host start(const struct mesoforge_array *array)
{
    const struct mesoforge_array plain = of(image, "u1", N, 1);
    struct host h = {NULL, NULL};

    CHECK(mesoforge_open(&h.session, "device=cpu threads=1") == MESOFORGE_OK);
    CHECK(mesoforge_field_array(h.session, "image", array ? array : &plain, &h.field) == MESOFORGE_OK);
    return h;
}

static mesoforge_result *measure(const struct host *h, const char *options)
{
    mesoforge_result *result = NULL;
    int rc = mesoforge_characterize(h->session, h->field, options, &result);

    CHECK_SAYS(rc == MESOFORGE_OK, "%s: %s", options, mesoforge_last_error()->sentence);
    return result;
}

static int same_arrays(const mesoforge_result *a, const mesoforge_result *b)
{
    struct mesoforge_array one, other;
    size_t i = 0;

    for (; mesoforge_result_array(a, i, &one); ++i) {
        size_t bytes = sizeof(double);

        if (!mesoforge_result_array(b, i, &other) || strcmp(one.name, other.name) != 0) return 0;
        for (int k = 0; k < one.ndim; ++k) bytes *= one.shape[k];
        if (memcmp(one.data, other.data, bytes) != 0) return 0;
    }
    return i > 0 && !mesoforge_result_array(b, i, &other);
}

static void measures_an_image(void)
{
    struct host h = start(NULL);
    mesoforge_result *r = measure(&h, "limit-to=8 measures=surface measures=euler");
    struct mesoforge_array a;
    double ones = 0;
    int found = 0;

    for (int y = 0; y < N; ++y)
        for (int x = 0; x < N; ++x) ones += image[y][x];
    for (size_t i = 0; mesoforge_result_array(r, i, &a); ++i) {
        if (strcmp(a.name, "all/fraction") != 0) continue;
        found = 1;
        CHECK(a.ndim == 2 && a.shape[0] == 2 && strcmp(a.axes, "phase level") == 0);
        CHECK(((const double *)a.data)[a.shape[1]] == ones / (N * N));
    }
    CHECK(found);
    CHECK(strstr(mesoforge_result_json(r), "\"euler"));
    CHECK(mesoforge_close(h.session) == MESOFORGE_OK);
    CHECK(strstr(mesoforge_result_json(r), "\"@image\"")); /* a result outlives its session */
    mesoforge_result_free(r);
}

/* The same values laid out otherwise give the same bits. */
static void lays_do_not_matter(void)
{
    static const char *const types[] = {"b1", "u1", "i1", "<u2", ">u2", "i4", ">i8", "f4", ">f8", "u8"};
    static char memory[2 * N][3 * N][8];
    const char options[] = "limit-to=6 descriptor_types=FFTCorrelations descriptor_types=LinealPath";
    struct host h = start(NULL);
    mesoforge_result *want = measure(&h, options);

    for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
        for (int way = 0; way < 4; ++way) { /* C, Fortran, strided, backwards */
            const char *type = types[t], kind = *type == '<' || *type == '>' ? type[1] : type[0];
            const size_t size = (size_t)(type[strlen(type) - 1] - '0');
            const ptrdiff_t s = (ptrdiff_t)size;
            const ptrdiff_t down[] = {N * s, s, 2 * N * s, -N * s}, along[] = {s, N * s, 2 * s, -s};
            char *begin = (char *)memory + (way == 3 ? (N * N - 1) * s : 0);
            struct mesoforge_array a = of(begin, type, down[way], along[way]);
            mesoforge_field *field;
            mesoforge_result *got = NULL;

            memset(memory, 0x5a, sizeof memory);
            for (int y = 0; y < N; ++y)
                for (int x = 0; x < N; ++x) {
                    const uint8_t v = image[y][x];
                    const float f = v;
                    const double d = v;
                    uint64_t bits = v;
                    char *to = begin + y * down[way] + x * along[way];

                    if (kind == 'f') memcpy(&bits, size == 4 ? (const void *)&f : (const void *)&d, size);
                    memcpy(to, &bits, size);
                    for (size_t b = 0; *type == '>' && b < size; ++b) to[b] = ((char *)&bits)[size - 1 - b];
                }
            CHECK(mesoforge_field_array(h.session, "other", &a, &field) == MESOFORGE_OK);
            CHECK(mesoforge_characterize(h.session, field, options, &got) == MESOFORGE_OK);
            CHECK_SAYS(got && same_arrays(want, got), "%s, way %d", type, way);
            mesoforge_result_free(got);
            CHECK(mesoforge_field_free(h.session, field) == MESOFORGE_OK);
        }
    mesoforge_result_free(want);
    mesoforge_close(h.session);
}

static void refuses(const struct host *h, const char *options, int code, const char *part, const char *advice)
{
    mesoforge_result *r = (mesoforge_result *)h;
    int rc = mesoforge_characterize(h->session, h->field, options, &r);
    const struct mesoforge_error *e = mesoforge_last_error();

    CHECK_SAYS(rc == code && e->code == code && !r, "%s: code %d", options, rc);
    CHECK_SAYS(strstr(e->sentence, part) && !strstr(e->sentence, "; try: "), "%s: '%s'", options, e->sentence);
    CHECK_SAYS(strcmp(e->advice, advice) == 0, "%s: advice '%s'", options, e->advice);
}

static void refuses_options(void)
{
    struct host h = start(NULL);

    refuses(&h, "limt-to=8", MESOFORGE_USAGE, "no option '--limt-to'", "--limit_to");
    refuses(&h, "limit-to=none", MESOFORGE_USAGE, "must be an integer", "");
    refuses(&h, "limit-to=8 limit-to=9", MESOFORGE_USAGE, "given twice", "");
    refuses(&h, "limit-to=0", MESOFORGE_USAGE, "at least 1", "");
    refuses(&h, "limit-to", MESOFORGE_USAGE, "needs a value", "");
    refuses(&h, "unit='um", MESOFORGE_USAGE, "has no end", "");
    refuses(&h, "measures=--json", MESOFORGE_USAGE, "no value of 'measures'", "");
    refuses(&h, "json", MESOFORGE_USAGE, "an option of the program", "");
    refuses(&h, "output=a.h5", MESOFORGE_USAGE, "an option of the program", "");
    refuses(&h, "export=S2=a.npy", MESOFORGE_USAGE, "an option of the program", "");
    refuses(&h, "threads=2", MESOFORGE_USAGE, "an option of a session", "another session");
    refuses(&h, "mask=@cover", MESOFORGE_INPUT, "cannot open '@cover'", "");
    refuses(&h, "labels=0,255", MESOFORGE_INPUT, "holds the value 1", "");
    refuses(&h, "iterations=3", MESOFORGE_USAGE, "no option '--iterations'", "");
    mesoforge_result_free(measure(&h, " \n unit='nano metre'\tspacing=2 isotropic=false "));
    mesoforge_close(h.session);
}

static void refuses_field(const struct host *h, const struct mesoforge_array *array, int code, const char *part)
{
    mesoforge_field *field = NULL;
    mesoforge_result *r = NULL;
    int rc = mesoforge_field_array(h->session, "bad", array, &field);

    if (rc == MESOFORGE_OK) rc = mesoforge_characterize(h->session, field, NULL, &r);
    CHECK_SAYS(rc == code && strstr(mesoforge_last_error()->sentence, part), "%d: '%s', not '%s'", rc,
               mesoforge_last_error()->sentence, part);
    mesoforge_field_free(h->session, field);
}

static void refuses_arrays(void)
{
    static double values[N][N];
    struct mesoforge_array a = of(values, "f8", N * 8, 8);
    struct host h = start(NULL);

    values[3][4] = NAN;
    refuses_field(&h, &a, MESOFORGE_INPUT, "NaN or infinite, the first at [3][4]");
    values[3][4] = 0.5;
    refuses_field(&h, &a, MESOFORGE_INPUT, "is grey");
    a.type = "c16";
    refuses_field(&h, &a, MESOFORGE_USAGE, "type 'c16'");
    a.type = NULL;
    refuses_field(&h, &a, MESOFORGE_USAGE, "type ''");
    a = of(NULL, "f8", N * 8, 8);
    refuses_field(&h, &a, MESOFORGE_USAGE, "data is NULL");
    a = of(values, "f8", N * 8, 8);
    a.shape[1] = 0;
    refuses_field(&h, &a, MESOFORGE_INPUT, "is empty");
    a.ndim = 1;
    refuses_field(&h, &a, MESOFORGE_INPUT, "has 1 axis");
    a.ndim = 9;
    refuses_field(&h, &a, MESOFORGE_USAGE, "has 9 axes");
    a = (struct mesoforge_array){.type = "u1", .ndim = 2, .shape = {(size_t)1 << 40, (size_t)1 << 40}, .data = values};
    refuses_field(&h, &a, MESOFORGE_INPUT, "more values than can be counted");
    refuses_field(&h, NULL, MESOFORGE_USAGE, "no array");
    mesoforge_close(h.session);
}

/* A volume with a strange number of voxels, its mask, and the names of fields. */
static void fields_have_names(void)
{
    static uint8_t cover[N][N];
    const struct mesoforge_array array = of(cover, "u1", N, 1);
    struct host h = start(NULL);
    mesoforge_field *field = NULL, *again = NULL;

    cover[5][5] = 1;
    CHECK(mesoforge_field_array(h.session, "cover", &array, &field) == MESOFORGE_OK);
    CHECK(mesoforge_field_array(h.session, "cover", &array, &again) == MESOFORGE_USAGE && !again);
    CHECK(mesoforge_field_array(h.session, "a b", &array, &again) == MESOFORGE_USAGE && !again);
    CHECK(mesoforge_field_array(h.session, "", &array, &again) == MESOFORGE_USAGE);
    CHECK(mesoforge_field_array(h.session, NULL, &array, &again) == MESOFORGE_USAGE);
    mesoforge_result_free(measure(&h, "mask=@cover limit-to=5"));
    CHECK(mesoforge_field_free(h.session, field) == MESOFORGE_OK);
    CHECK(mesoforge_field_free(h.session, field) == MESOFORGE_USAGE);
    refuses(&h, "mask=@cover", MESOFORGE_INPUT, "cannot open '@cover'", "");
    mesoforge_close(h.session);
}

static void refuses_handles(void)
{
    struct host h = start(NULL), other = start(NULL);
    mesoforge_result *r = NULL;
    mesoforge_session *none = (mesoforge_session *)&h;

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
    CHECK(mesoforge_open(&none, "device=cuda") == MESOFORGE_DEVICE && !none);
    CHECK(strcmp(mesoforge_last_error()->advice, "--device cpu") == 0);
    mesoforge_close(other.session);
    CHECK(mesoforge_close(other.session) == MESOFORGE_USAGE);
    CHECK(mesoforge_close(NULL) == MESOFORGE_OK);
    CHECK(!mesoforge_result_json(NULL) && !mesoforge_result_array(NULL, 0, NULL));
    mesoforge_result_free(NULL);
    mesoforge_close(h.session);
}

static void refuses_little_memory(void)
{
    static uint8_t large[64][128][128];
    const struct mesoforge_array a = {
        .type = "u1", .ndim = 3, .shape = {64, 128, 128}, .stride = {128 * 128, 128, 1}, .data = large};
    mesoforge_session *session;
    mesoforge_field *field;
    mesoforge_result *r;

    large[0][0][0] = 1;
    CHECK(mesoforge_open(&session, "memory-limit=1 threads=1") == MESOFORGE_OK);
    CHECK(mesoforge_field_array(session, "large", &a, &field) == MESOFORGE_OK);
    CHECK(mesoforge_characterize(session, field, NULL, &r) == MESOFORGE_MEMORY);
    CHECK(*mesoforge_last_error()->advice);
    mesoforge_close(session);
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

struct steps {
    mesoforge_session *session;
    long heard, most; /* it stops after so many; 0: never */
    double share;     /* the largest that it heard */
};

static int hear_step(void *context, const char *what, double share)
{
    struct steps *steps = context;

    CHECK(*what && share <= 1);
    steps->share = fmax(steps->share, share);
    return ++steps->heard != steps->most;
}

static void *cancel_soon(void *context)
{
    const struct steps *steps = context;

    nanosleep(&(struct timespec){0, 100000000}, NULL);
    CHECK(mesoforge_cancel(steps->session) == MESOFORGE_OK);
    return NULL;
}

/* Stops when its host says so, by an answer or from another thread, and works again. */
static void makes_a_structure(void)
{
    const char options[] =
        "limit-to=6 max-iter=30 seed=3 plan=off descriptor-types=FFTCorrelations descriptor-types=Variation";
    struct host h = start(NULL);
    struct steps steps = {.session = h.session, .most = 0};
    mesoforge_result *r = NULL, *none = NULL;
    struct mesoforge_array phase = {0}, labels = {0};
    pthread_t thread;

    CHECK(mesoforge_on_progress(h.session, hear_step, &steps) == MESOFORGE_OK);
    CHECK_SAYS(mesoforge_match(h.session, h.field, options, &r) == MESOFORGE_OK, "%s",
               mesoforge_last_error()->sentence);
    CHECK(mesoforge_result_array(r, 0, &phase) && strcmp(phase.name, "phase") == 0 && strcmp(phase.type, "u1") == 0);
    CHECK(phase.ndim == 2 && phase.shape[0] == N && phase.shape[1] == N && phase.stride[0] == N);
    CHECK(mesoforge_result_array(r, 1, &labels) && ((const int64_t *)labels.data)[1] == 1);
    CHECK(!mesoforge_result_array(r, 2, &labels) && strstr(mesoforge_result_json(r), "\"loss_final\""));
    CHECK_SAYS(steps.heard >= 10 && steps.share > 0.9, "%ld steps", steps.heard);
    mesoforge_result_free(r);
    steps.heard = 0;
    steps.most = 5;
    CHECK(mesoforge_match(h.session, h.field, options, &none) == MESOFORGE_STOPPED && !none);
    CHECK_SAYS(steps.heard < 15, "%ld evaluations after the fifth said stop", steps.heard - 5);
    steps.most = 0;
    CHECK(pthread_create(&thread, NULL, cancel_soon, &steps) == 0);
    CHECK(mesoforge_match(h.session, h.field,
                          "size=32,32,32 limit-to=6 max-iter=100000 tolerance=0 plan=off "
                          "descriptor-types=FFTCorrelations descriptor-types=Variation",
                          &none) == MESOFORGE_STOPPED);
    CHECK(pthread_join(thread, NULL) == 0 && !none);
    CHECK(mesoforge_match(h.session, h.field, "limit-to=6 max-iter=0", &none) == MESOFORGE_USAGE);
    CHECK(mesoforge_match(h.session, h.field, "realisations=2", &none) == MESOFORGE_USAGE);
    CHECK(mesoforge_match(h.session, h.field, "restart=auto", &none) == MESOFORGE_USAGE);
    CHECK(mesoforge_match(h.session, h.field, options, &r) == MESOFORGE_OK);
    mesoforge_result_free(r);
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

        CHECK(mesoforge_open(&session, i % 2 ? "threads=2" : "threads=1 deterministic") == MESOFORGE_OK);
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
    measures_an_image();
    lays_do_not_matter();
    refuses_options();
    refuses_arrays();
    fields_have_names();
    refuses_handles();
    refuses_little_memory();
    tells_its_host();
    makes_a_structure();
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
