/* Mistakes of callers break on the shadow at once, with one line that names them. They are a host access to device
 * memory, a missing sync, memory of the wrong kind, an input that changes too early. */
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/field.h"
#include "kernels/slices/slices.h"
#include "tests/device.h"

enum { N = 6 };

static struct device d;
static float *x, *g, *target; /* device */
static double *out, *scale;   /* host */
static struct mf_slice_plan *plan;
static const struct mf_extent extent = {1, N, N *N};

static void open_all(void)
{
    const struct mf_slice_desc desc = {.nu = N, .nv = N, .levels = 1, .count_max = N, .periodic = 1};
    const float zero = 0;

    d = device_open(1, 1, 0);
    x = mf_arena_take(d.arena, N * N * N * sizeof *x, "field");
    g = mf_arena_take(d.arena, N * N * N * sizeof *g, "gradient");
    target = device_put(&d, &zero, sizeof zero);
    out = device_host(&d, NULL, N * sizeof *out);
    scale = device_host(&d, NULL, N * sizeof *scale);
    d.be->field->fill(d.q, N * N * N, 0.5f, x);
    d.be->field->fill(d.q, N * N * N, 0, g);
    if (mf_slices_plan(d.be->slices->frac, d.q, &desc, &plan) != MF_OK) abort();
}

static void close_all(void)
{
    d.be->slices->frac->free(plan);
    mf_arena_give(d.arena, x);
    mf_arena_give(d.arena, g);
    mf_arena_give(d.arena, target);
    mf_arena_give(d.host, out);
    mf_arena_give(d.host, scale);
    device_close(&d);
}

static void compare(double *sum)
{
    static const double one = 1;

    d.be->slices->frac->eval(plan, &(struct mf_slice_task){.x = {x, N, N, N, N * N, N, 1},
                                                           .g = {g, N, N, N, N * N, N, 1},
                                                           .target = target,
                                                           .weight = &one,
                                                           .power = 1,
                                                           .scale = scale,
                                                           .sum = sum});
}

/* -- planted bugs: each in a process of its own -- */

static void reads(void) { exit(((volatile float *)x)[7] > 0); }

static void writes(void) { ((volatile float *)g)[N] = 1; }

static void overruns(void) { ((volatile float *)x)[sysconf(_SC_PAGESIZE) / (long)sizeof *x] = 1; }

static void host_memory(void)
{
    float on_stack[N] = {0};

    d.be->field->fill(d.q, N, 1, on_stack);
}

static void stack_output(void)
{
    double on_stack[N];

    d.be->field->sum(d.q, extent, x, on_stack);
}

static void early_change(void)
{
    compare(out);
    scale[2] = 3;
    d.be->sync(d.q);
}

/* The host changes what a copy to the device reads, kernels what one from it reads. */
static void changes_copy(void)
{
    float *from = device_host(&d, NULL, N * sizeof *from);
    size_t copy = d.be->put_start(d.q, x, from, N * sizeof *from);

    d.be->follow(d.q, copy);
    from[1] = 1;
    d.be->finish(d.q, copy);
}

static void overwrites_copy(void)
{
    float *to = device_host(&d, NULL, N * sizeof *to);
    size_t copy = d.be->get_start(d.q, to, x, N * sizeof *to);

    d.be->field->fill(d.q, N, 1, x);
    d.be->finish(d.q, copy);
}

/* Runs @p bug: it must end with MF_BROKEN and a line with @p text. */
static void check_caught(void (*bug)(void), const char *text)
{
    char said[1024] = "";
    int line[2], status = 0;
    size_t n = 0;
    pid_t child;

    if (pipe(line) != 0) abort();
    child = fork();
    if (child < 0) abort();
    if (child == 0) {
        dup2(line[1], STDERR_FILENO);
        open_all();
        bug();
        _exit(0);
    }
    close(line[1]);
    for (ssize_t got; n + 1 < sizeof said && (got = read(line[0], said + n, sizeof said - 1 - n)) > 0;)
        n += (size_t)got;
    close(line[0]);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == MF_BROKEN);
    CHECK(strstr(said, "broken: ") && strstr(said, text));
    if (!strstr(said, text)) fprintf(stderr, "wanted '%s', it said: %s", text, said);
}

/* Sums are NaN until sync(); gradients, sums and totals are then those of cpu. */
static void check_late(void)
{
    float copy[N * N * N];

    open_all();
    for (size_t i = 0; i < N; ++i) scale[i] = 1;
    d.be->field->sum(d.q, extent, x, out);
    for (size_t i = 0; i < N; ++i) CHECK(isnan(out[i]));
    d.be->sync(d.q);
    for (size_t i = 0; i < N; ++i) CHECK(out[i] == 0.5 * N * N);
    compare(out);
    CHECK(isnan(out[0]));
    d.be->get(d.q, copy, g, sizeof copy);
    CHECK(isnan(out[N - 1])); /* a copy is no wait */
    d.be->sync(d.q);
    CHECK_NEAR(out[N - 1], 0.5, 1e-7);
    CHECK_NEAR((double)copy[5], 1.0 / (N * N), 1e-7);
    out[0] = 100; /* totals add, also to what is on its way */
    for (int i = 0; i < 2; ++i) d.be->slices->frac->total(plan, &(struct mf_view){x, N, N, N, N * N, N, 1}, out);
    CHECK(isnan(out[0]));
    d.be->sync(d.q);
    CHECK_NEAR(out[0], 100 + 2 * N * 0.5, 1e-6);
    close_all();
}

/* The target of a copy is NaN until the caller waits for it. */
static void check_copies(void)
{
    float *host;
    size_t copy;

    open_all();
    host = device_host(&d, NULL, N * N * sizeof *host);
    copy = d.be->put_start(d.q, x, host, N * N * sizeof *host);
    d.be->field->sum(d.q, extent, x, out);
    d.be->sync(d.q);
    CHECK(isnan(out[0]) && out[1] == 0.5 * N * N);
    d.be->follow(d.q, copy);
    d.be->field->sum(d.q, extent, x, out);
    d.be->sync(d.q);
    CHECK(out[0] == 0);
    copy = d.be->get_start(d.q, host, x + N * N, N * N * sizeof *host);
    CHECK(isnan(host[3]));
    d.be->finish(d.q, copy);
    CHECK(host[3] == 0.5f);
    mf_arena_give(d.host, host);
    close_all();
}

int main(void)
{
    setenv("MF_TEST_DEVICE", "shadow", 1);
    check_caught(reads, "the host touched device memory: field");
    check_caught(writes, "the host touched device memory: gradient");
    check_caught(overruns, "the host touched device memory: past its end");
    check_caught(host_memory, "fill: argument 1 of device memory is not");
    check_caught(stack_output, "sum: what crosses does not come from the queue's host memory");
    check_caught(early_change, "what it reads has been changed before sync");
    check_caught(changes_copy, "what a copy to the device reads has been changed before it was done");
    check_caught(overwrites_copy, "what a copy from the device reads has been changed before it was done");
    check_late();
    check_copies();
    return failures != 0;
}
