/* See reply.h. */
#include "src/gen/reply.h"

#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"

void mf_reply_open(struct mf_reply *r, const struct mf_tokenizer *tokenizer, size_t stops, const char *const *stop)
{
    *r = (struct mf_reply){.stream = mf_text_stream_new(tokenizer, 0), .stop = stop, .stops = stops};
}

void mf_reply_close(struct mf_reply *r)
{
    mf_text_stream_free(r->stream);
    mf_bytes_free(&r->text);
    *r = (struct mf_reply){.stream = NULL};
}

/* Does the text before byte @p end end with @p n bytes of @p stop? */
static int ends_with(const struct mf_reply *r, size_t end, const char *stop, size_t n)
{
    return n <= end && memcmp(r->text.at + end - n, stop, n) == 0;
}

/* The length of the longest text of stop that ends at byte @p end. */
static size_t stop_at(const struct mf_reply *r, size_t end)
{
    size_t most = 0;

    for (size_t k = 0; k < r->stops; ++k) {
        const size_t n = strlen(r->stop[k]);

        if (n > most && ends_with(r, end, r->stop[k], n)) most = n;
    }
    return most;
}

/* Bytes at the end of the text with which a text of stop may begin. */
static size_t unsure(const struct mf_reply *r)
{
    size_t most = 0;

    for (size_t k = 0; k < r->stops; ++k)
        for (size_t n = mf_min(strlen(r->stop[k]) - 1, r->text.count); n > most; --n)
            if (ends_with(r, r->text.count, r->stop[k], n)) most = n;
    return most;
}

/* Looks for texts of stop that end behind byte @p from. */
static void look(struct mf_reply *r, size_t from)
{
    for (size_t end = from + 1; !r->stopped && end <= r->text.count; ++end) {
        const size_t n = stop_at(r, end);

        if (n == 0) continue;
        r->stopped = 1;
        r->text.count = end - n;
    }
    r->sure = r->text.count - (r->stopped ? 0 : unsure(r));
}

int mf_reply_put(struct mf_reply *r, uint32_t token)
{
    const size_t before = r->text.count;

    MF_TRY(mf_text_stream_put(r->stream, token, &r->text));
    look(r, before);
    return MF_OK;
}

int mf_reply_end(struct mf_reply *r)
{
    const size_t before = r->text.count;

    if (r->stopped) return MF_OK;
    MF_TRY(mf_text_stream_end(r->stream, &r->text));
    look(r, before);
    r->sure = r->text.count;
    return MF_OK;
}
