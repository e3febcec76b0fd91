/* See meter.h. Format: https://prometheus.io/docs/instrumenting/exposition_formats/ */
#include "src/serve/meter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

enum { STATUSES = 32 };

static const double bound[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};
enum { BOUNDS = sizeof bound / sizeof *bound };

struct histogram {
    unsigned long long count[BOUNDS + 1];
    double sum;
};

struct mf_meter {
    pthread_mutex_t lock;
    struct {
        int status;
        unsigned long long count;
    } request[STATUSES];
    size_t statuses;
    unsigned long long prompt, made;
    struct histogram time[MF_METER_TIMES];
    struct mf_meter_now now;
};

struct mf_meter *mf_meter_open(void)
{
    struct mf_meter *t = MF_MUST(calloc(1, sizeof *t), "numbers of a server");

    (void)pthread_mutex_init(&t->lock, NULL);
    return t;
}

void mf_meter_close(struct mf_meter *t)
{
    if (!t) return;
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

void mf_meter_request(struct mf_meter *t, int status)
{
    size_t k = 0;

    (void)pthread_mutex_lock(&t->lock);
    while (k < t->statuses && t->request[k].status != status) ++k;
    if (k < STATUSES) {
        t->request[k].status = status;
        ++t->request[k].count;
        if (k == t->statuses) ++t->statuses;
    }
    (void)pthread_mutex_unlock(&t->lock);
}

void mf_meter_tokens(struct mf_meter *t, size_t prompt, size_t made)
{
    (void)pthread_mutex_lock(&t->lock);
    t->prompt += prompt;
    t->made += made;
    (void)pthread_mutex_unlock(&t->lock);
}

void mf_meter_time(struct mf_meter *t, enum mf_meter_time which, double seconds)
{
    size_t k = 0;

    while (k < BOUNDS && seconds > bound[k]) ++k;
    (void)pthread_mutex_lock(&t->lock);
    ++t->time[which].count[k];
    t->time[which].sum += seconds;
    (void)pthread_mutex_unlock(&t->lock);
}

void mf_meter_now(struct mf_meter *t, const struct mf_meter_now *now)
{
    (void)pthread_mutex_lock(&t->lock);
    t->now = *now;
    (void)pthread_mutex_unlock(&t->lock);
}

static void head(struct mf_bytes *to, const char *name, const char *kind, const char *help)
{
    mf_bytes_say(to, "# HELP mesoforge_%s %s\n# TYPE mesoforge_%s %s\n", name, help, name, kind);
}

static void write_gauge(struct mf_bytes *to, const char *name, const char *help, size_t value)
{
    head(to, name, "gauge", help);
    mf_bytes_say(to, "mesoforge_%s %zu\n", name, value);
}

static void write_time(struct mf_bytes *to, const struct histogram *h, const char *name, const char *help)
{
    unsigned long long sum = 0;

    head(to, name, "histogram", help);
    for (size_t k = 0; k < BOUNDS; ++k) {
        sum += h->count[k];
        mf_bytes_say(to, "mesoforge_%s_bucket{le=\"%g\"} %llu\n", name, bound[k], sum);
    }
    sum += h->count[BOUNDS];
    mf_bytes_say(to, "mesoforge_%s_bucket{le=\"+Inf\"} %llu\nmesoforge_%s_sum %.9g\nmesoforge_%s_count %llu\n", name,
                 sum, name, h->sum, name, sum);
}

static void write_tokens(const struct mf_meter *t, enum mf_ask_kind kind, struct mf_bytes *to)
{
    head(to, "tokens_total", "counter", "Tokens of prompts, and new tokens.");
    mf_bytes_say(to, "mesoforge_tokens_total{kind=\"prompt\"} %llu\n", t->prompt);
    if (kind == MF_ASK_TEXT) mf_bytes_say(to, "mesoforge_tokens_total{kind=\"new\"} %llu\n", t->made);
}

/* A server of texts that go on. */
static void write_text(const struct mf_meter *t, struct mf_bytes *to)
{
    write_gauge(to, "cache_pages_used", "Pages of caches that requests have taken.", t->now.pages_used);
    write_gauge(to, "cache_pages", "Pages of caches.", t->now.pages);
    write_time(to, &t->time[MF_METER_FIRST], "first_token_seconds", "Time from a request to its first token.");
    write_time(to, &t->time[MF_METER_NEXT], "next_token_seconds", "Time from one token of a request to the next.");
}

void mf_meter_write(struct mf_meter *t, enum mf_ask_kind kind, struct mf_bytes *to)
{
    (void)pthread_mutex_lock(&t->lock);
    head(to, "requests_total", "counter",
         "Requests by the HTTP status of the answer, or of a failed stream. 499: the client had gone.");
    for (size_t k = 0; k < t->statuses; ++k)
        mf_bytes_say(to, "mesoforge_requests_total{status=\"%d\"} %llu\n", t->request[k].status, t->request[k].count);
    if (kind != MF_ASK_ANSWER) write_tokens(t, kind, to);
    write_gauge(to, "queue_length", "Requests that wait.", t->now.queue);
    write_gauge(to, "requests_active", kind == MF_ASK_ANSWER ? "Images at work now." : "Prompts at work now.",
                t->now.active);
    write_time(to, &t->time[MF_METER_QUEUE], "queue_seconds", "Time of a request in the queue.");
    if (kind == MF_ASK_TEXT) write_text(t, to);
    (void)pthread_mutex_unlock(&t->lock);
}
