/* See buffer.h. */
#include "src/text/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/text/unicode.h"

/* Room for @p count elements of @p size bytes, at least doubled. */
static void *grow(void *at, size_t size, size_t count, size_t *room)
{
    if (count <= *room) return at;
    *room = count > 2 * *room ? count + 16 : 2 * *room;
    return MF_MUST(realloc(at, *room * size), "a text");
}

void mf_bytes_put(struct mf_bytes *bytes, const void *from, size_t n)
{
    if (n == 0) return;
    bytes->at = grow(bytes->at, 1, bytes->count + n, &bytes->room);
    memcpy(bytes->at + bytes->count, from, n);
    bytes->count += n;
}

void mf_bytes_room(struct mf_bytes *bytes, size_t count) { bytes->at = grow(bytes->at, 1, count, &bytes->room); }

void mf_bytes_point(struct mf_bytes *bytes, uint32_t point)
{
    char utf8[4];

    mf_bytes_put(bytes, utf8, mf_point_write(point, utf8));
}

void mf_bytes_say(struct mf_bytes *bytes, const char *format, ...)
{
    va_list values, again;
    int n;

    va_start(values, format);
    va_copy(again, values);
    n = vsnprintf(NULL, 0, format, values);
    va_end(values);
    MF_ASSERT(n >= 0);
    bytes->at = grow(bytes->at, 1, bytes->count + (size_t)n + 1, &bytes->room); /* with the NUL of printf */
    (void)vsnprintf(bytes->at + bytes->count, (size_t)n + 1, format, again);
    va_end(again);
    bytes->count += (size_t)n;
}

void mf_bytes_free(struct mf_bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct mf_bytes){0};
}

void mf_pieces_clear(struct mf_pieces *pieces) { pieces->text.count = pieces->count = 0; }

void mf_pieces_span(struct mf_pieces *pieces, size_t at, size_t count)
{
    pieces->span = grow(pieces->span, sizeof *pieces->span, pieces->count + 1, &pieces->room);
    pieces->span[pieces->count++] = (struct mf_span){at, count};
}

void mf_pieces_end(struct mf_pieces *pieces, size_t at) { mf_pieces_span(pieces, at, pieces->text.count - at); }

void mf_pieces_put(struct mf_pieces *pieces, const char *from, size_t n)
{
    mf_bytes_put(&pieces->text, from, n);
    mf_pieces_end(pieces, pieces->text.count - n);
}

void mf_pieces_free(struct mf_pieces *pieces)
{
    mf_bytes_free(&pieces->text);
    free(pieces->span);
    *pieces = (struct mf_pieces){0};
}

void mf_tokens_add(struct mf_tokens *tokens, const uint32_t *numbers, size_t n)
{
    if (n == 0) return;
    tokens->at = grow(tokens->at, sizeof *tokens->at, tokens->count + n, &tokens->room);
    memcpy(tokens->at + tokens->count, numbers, n * sizeof *numbers);
    tokens->count += n;
}

void mf_tokens_put(struct mf_tokens *tokens, uint32_t number) { mf_tokens_add(tokens, &number, 1); }

void mf_tokens_free(struct mf_tokens *tokens)
{
    free(tokens->at);
    *tokens = (struct mf_tokens){0};
}
