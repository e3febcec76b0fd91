/* The fastest algorithm of a library is taken, and remembered: it is not tried again. A remembered algorithm that is of
 * no use is tried anew. A queue whose plans do not depend on timing tries none. */
#include "kernels/tuning.h"

#include <stdio.h>

#include "kernels/net/ops.h"
#include "tests/device.h"

enum { ROWS = 5, IN = 8, OUT = 16 };

static struct mf_tensor of(enum mf_type type, int n, size_t a, size_t b, size_t c, size_t d)
{
    return (struct mf_tensor){.shape = {.type = type, .n = n, .d = {a, b, c, d}}};
}

/* Work memory of a linear operation, or of a convolution, with what is remembered. */
static size_t plan(const struct device *d, enum mf_op_id op, struct mf_algorithms *tuning)
{
    const struct mf_attr attr = {.stride = 1, .pad = 1};
    const struct mf_op_calls *calls = d->be->net->calls[op];
    struct mf_call call = {.attr = &attr};
    void *made = NULL;
    size_t work = 0;

    if (op == MF_OP_LINEAR) {
        call.in[0] = of(MF_F32, 2, ROWS, IN, 0, 0);
        call.in[1] = of(MF_F32, 2, OUT, IN, 0, 0);
        call.out[0] = of(MF_F32, 2, ROWS, OUT, 0, 0);
    } else {
        call.in[0] = of(MF_F32, 4, 2, 6, 6, 3);
        call.in[1] = of(MF_F32, 4, OUT, 3, 3, 3);
        call.out[0] = of(MF_F32, 4, 2, 6, 6, OUT);
    }
    d->q->tuning = tuning;
    CHECK(calls->plan(d->q, &call, 0, &made, &work) == MF_OK);
    d->q->tuning = NULL;
    calls->release(made);
    CHECK(mf_arena_live(d->arena) == 0);
    return work;
}

static struct mf_algorithms counted(size_t tried, size_t remembered)
{
    return (struct mf_algorithms){.tried = tried, .remembered = remembered};
}

static int same(const struct mf_algorithms *t, struct mf_algorithms want)
{
    return t->tried == want.tried && t->remembered == want.remembered && t->left == 0;
}

/* The second algorithm of the stand-in is its fastest, and needs more work memory than the first. */
static void finds(const struct device *d, enum mf_op_id op)
{
    struct mf_algorithms t = {0}, again = {0}, bad = {0};
    const size_t usual = plan(d, op, NULL), best = plan(d, op, &t);
    char *text = mf_algorithms_text(&t);

    CHECK_SAYS(best > usual && same(&t, counted(1, 0)) && t.entries == 1 && t.changed, "%zu bytes, %s", best, text);
    CHECK(plan(d, op, &t) == best && same(&t, counted(1, 1)));
    CHECK(mf_algorithms_take(&again, text, 0) == MF_OK && !again.changed);
    CHECK(plan(d, op, &again) == best && same(&again, counted(0, 1)) && again.entries == 1);
    mf_algorithms_put(&bad, t.entry[0].key, "99 1 2 3 4 5 6 7");
    CHECK(plan(d, op, &bad) == best && same(&bad, counted(1, 0)));
    CHECK(strcmp(bad.entry[0].value, t.entry[0].value) == 0);
    free(text);
    mf_algorithms_free(&t);
    mf_algorithms_free(&again);
    mf_algorithms_free(&bad);
}

/* Neither where time is out, nor where memory is. */
static void leaves(const struct device *d)
{
    struct mf_algorithms t = {.seconds = 1e6}, other = {0};
    struct device small = device_open(1, 0, 256);

    plan(d, MF_OP_LINEAR, &t);
    CHECK(t.left == 1 && t.tried == 0 && t.entries == 0);
    plan(&small, MF_OP_LINEAR, &other);
    CHECK(other.left == 1 && other.tried == 0);
    device_close(&small);
    mf_algorithms_free(&t);
    mf_algorithms_free(&other);
}

static void deterministic(void)
{
    struct device d = device_open(1, 1, 0);
    struct mf_algorithms t = {0};

    CHECK(plan(&d, MF_OP_LINEAR, &t) == plan(&d, MF_OP_LINEAR, NULL) && same(&t, counted(0, 0)));
    device_close(&d);
}

/* Lines replace what is known only if they may; others are refused whole. */
static void texts(void)
{
    static const char *const wrong[] = {"a\n", "a\tb", "\tb\n", "a\t\n", "a\tb\nc\n", "a\tb\tc\n"};
    struct mf_algorithms t = {0};
    char *text;

    mf_algorithms_put(&t, "one", "1");
    CHECK(mf_algorithms_take(&t, "one\t2\nother\t3\n", 0) == MF_OK && t.entries == 2);
    CHECK(strcmp(mf_algorithms_find(&t, "one"), "1") == 0 && strcmp(mf_algorithms_find(&t, "other"), "3") == 0);
    CHECK(mf_algorithms_take(&t, "one\t2\n", 1) == MF_OK && strcmp(mf_algorithms_find(&t, "one"), "2") == 0);
    CHECK(!mf_algorithms_find(&t, "on") && !mf_algorithms_find(&t, "ones"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) CHECK(mf_algorithms_take(&t, wrong[i], 1) == MF_INPUT);
    text = mf_algorithms_text(&t);
    CHECK(strcmp(text, "one\t2\nother\t3\n") == 0);
    free(text);
    mf_algorithms_free(&t);
}

int main(void)
{
    struct device d = device_open(1, 0, 0);

    texts();
    if (d.be->segment_begin) {
        finds(&d, MF_OP_LINEAR);
        finds(&d, MF_OP_CONV2D);
        leaves(&d);
        deterministic();
    }
    device_close(&d);
    return failures != 0;
}
