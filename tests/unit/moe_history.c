/* A history of many steps is short, and its rows add up. It is read as it was written; damage is refused or leaves what
 * can be. */
#include "src/moe/history.h"

#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"
#include "tests/scratch.h"

enum { EXPERTS = 12 };

static double rows_of(long step, long id) { return (double)((step * 7 + id * 3) % 11); }

/* Expert e lives from step 40 e on; of them those with id % 4 == 3 until step 300. */
static int lives(long step, long id) { return step >= 40 * id && (id % 4 != 3 || step < 300); }

static void run(struct mf_history *h, long steps)
{
    for (long step = 0; step < steps; ++step) {
        long id[EXPERTS];
        double rows[EXPERTS];
        size_t n = 0;

        for (long e = 0; e < EXPERTS; ++e) {
            if (!lives(step, e)) continue;
            rows[n] = rows_of(step, e);
            id[n++] = e;
            if (step && !lives(step - 1, e)) mf_history_event(h, step, e, MF_CHANGE_BIRTH);
        }
        mf_history_step(h, step, n, id, rows);
        if (step % 100 == 99) mf_history_event(h, step, -1, MF_CHANGE_SLEEP);
    }
}

/* Each time has the sums of its steps, and the experts that lived in one of them. */
static void adds_up(const struct mf_history *h, long steps)
{
    long from = 0;

    for (size_t t = 0; t < h->times; ++t) {
        const struct mf_history_time *time = &h->time[t];
        size_t n = 0;

        CHECK(time->step >= from && (t + 1 < h->times ? time->step - from + 1 == h->each : time->step == steps - 1));
        for (long e = 0; e < EXPERTS; ++e) {
            double sum = 0;
            int lived = 0;

            for (long s = from; s <= time->step; ++s) {
                lived |= lives(s, e);
                sum += lives(s, e) ? rows_of(s, e) : 0;
            }
            if (!lived) continue;
            CHECK(n < time->count && time->id[n] == e && time->rows[n] == sum);
            ++n;
        }
        CHECK(n == time->count);
        from = time->step + 1;
    }
}

static char *text_of(const struct mf_history *h)
{
    struct mf_json *json = mf_history_json(h);
    char *text = mf_json_string(json);

    mf_json_free(json);
    return text;
}

/* The text of what a text says; NULL: it is refused. */
static char *again(const char *text, struct mf_history *h)
{
    struct mf_json *json = mf_json_parse(text);
    const int rc = json ? mf_history_from(json, "a.json", h) : MF_INPUT;

    mf_json_free(json);
    CHECK(rc == MF_OK || rc == MF_INPUT);
    return rc == MF_OK ? text_of(h) : NULL;
}

static void lengths(void)
{
    static const long steps[] = {0, 1, MF_HISTORY_TIMES, MF_HISTORY_TIMES + 1, 5000};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
        struct mf_history h = {.times = 0}, read = {.times = 0};
        char *text, *same;

        run(&h, steps[i]);
        CHECK(h.times <= MF_HISTORY_TIMES && h.times >= (size_t)(steps[i] < 128 ? steps[i] : 128));
        adds_up(&h, steps[i]);
        text = text_of(&h);
        same = again(text, &read);
        CHECK(same && strcmp(text, same) == 0);
        free(same);
        free(text);
        mf_history_free(&h);
        mf_history_free(&read);
    }
}

/* A run that is interrupted goes on as one that is not. */
static void goes_on(const struct mf_comm *comm)
{
    const char *path = scratch_file("a.ckpt-a.h5");
    struct mf_history whole = {.times = 0}, part = {.times = 0}, back = {.times = 0};
    struct mf_checkpoint *c = mf_checkpoint_new("task: none");
    char *text, *other;

    run(&whole, 700);
    run(&part, 650);
    CHECK(mf_history_checkpoint(&part, c, &text) == MF_OK && mf_checkpoint_write(comm, path, 1, c) == MF_OK);
    mf_checkpoint_free(c);
    free(text);
    mf_history_event(&back, 1, 1, MF_CHANGE_MERGE);
    CHECK(mf_checkpoint_open(comm, path, 0, &c) == MF_OK && mf_history_checkpoint(&back, c, &text) == MF_OK);
    mf_checkpoint_free(c);
    free(text);
    for (long step = 650; step < 700; ++step) {
        long id[EXPERTS];
        double rows[EXPERTS];
        size_t n = 0;

        for (long e = 0; e < EXPERTS; ++e)
            if (lives(step, e)) rows[n] = rows_of(step, e), id[n++] = e;
        mf_history_step(&back, step, n, id, rows);
    }
    mf_history_event(&back, 699, -1, MF_CHANGE_SLEEP);
    text = text_of(&whole);
    other = text_of(&back);
    CHECK(strcmp(text, other) == 0);
    free(text);
    free(other);
    mf_history_free(&whole);
    mf_history_free(&part);
    mf_history_free(&back);
}

static void files(void)
{
    struct mf_history h = {.times = 0}, read = {.times = 0};
    struct mf_json *json = NULL;
    char *text, *same;

    run(&h, 300);
    CHECK(mf_history_save(&h, scratch_file("a.json")) == MF_OK);
    CHECK(mf_json_load(scratch_file("a.json"), 1 << 20, &json) == MF_OK && mf_history_from(json, "a", &read) == MF_OK);
    CHECK(mf_history_save(&h, "/nowhere/a.json") == MF_OUTPUT);
    text = text_of(&h);
    same = text_of(&read);
    CHECK(strcmp(text, same) == 0);
    free(text);
    free(same);
    mf_json_free(json);
    mf_history_free(&h);
    mf_history_free(&read);
}

static void damaged(void)
{
    struct mf_history h = {.times = 0};
    char *text;

    run(&h, 60);
    text = text_of(&h);
    for (size_t i = 0; i < 8 * strlen(text); i += 3) {
        struct mf_history read = {.times = 0};

        text[i / 8] ^= (char)(1 << i % 8);
        free(again(text, &read));
        text[i / 8] ^= (char)(1 << i % 8);
        mf_history_free(&read);
    }
    free(text);
    mf_history_free(&h);
}

int main(void)
{
    struct mf_comm c;

    mf_comm_self(&c);
    scratch_open(&c);
    lengths();
    goes_on(&c);
    files();
    damaged();
    scratch_close(&c);
    return failures != 0;
}
