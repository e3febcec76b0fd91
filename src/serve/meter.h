/* Counts what a server does, for /metrics (the text format of Prometheus). Any thread may call. */
#ifndef MF_SERVE_METER_H
#define MF_SERVE_METER_H

#include <stddef.h>

#include "src/serve/ask.h"

struct mf_meter;

struct mf_meter *mf_meter_open(void);
void mf_meter_close(struct mf_meter *meter);

/** A request was answered with this HTTP status, or a stream failed with it. A client that has gone: 499, as nginx has
 * it. */
void mf_meter_request(struct mf_meter *meter, int status);

/** Tokens of prompts that were taken; new tokens. */
void mf_meter_tokens(struct mf_meter *meter, size_t prompt, size_t made);

/** Seconds of a request: in the queue; until its first token; between two tokens. */
enum mf_meter_time { MF_METER_QUEUE, MF_METER_FIRST, MF_METER_NEXT, MF_METER_TIMES };
void mf_meter_time(struct mf_meter *meter, enum mf_meter_time which, double seconds);

/** The state now: requests that wait and that run, pages of caches that are taken. */
struct mf_meter_now {
    size_t queue, active, pages_used, pages;
};
void mf_meter_now(struct mf_meter *meter, const struct mf_meter_now *now);

/** Appends the numbers that a server of this kind has: images have no tokens, and vectors make none. */
void mf_meter_write(struct mf_meter *meter, enum mf_ask_kind kind, struct mf_bytes *to);

#endif
