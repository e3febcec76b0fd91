/* See say.h. */
#include "src/serve/say.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mf_say_json(struct mf_json *value_take, struct mf_bytes *to)
{
    char *line = mf_json_string(value_take);

    mf_bytes_put(to, line, strlen(line) - 1);
    free(line);
    mf_json_free(value_take);
}

void mf_say_event(struct mf_json *value_take, struct mf_bytes *to)
{
    mf_bytes_put(to, "data: ", 6);
    mf_say_json(value_take, to);
    mf_bytes_put(to, "\n\n", 2);
}

static void put(struct mf_json *at, const char *key, const char *text, size_t n)
{
    mf_json_bytes(at, key, n ? text : "", n);
}

void mf_say_text(struct mf_json *at, const char *key, const struct mf_bytes *text)
{
    put(at, key, text->at, text->count);
}

struct mf_span mf_said_piece(const struct mf_said *said, size_t i)
{
    const size_t from = i ? said->token[i - 1].sure : 0;

    return (struct mf_span){from, said->token[i].sure - from};
}

void mf_say_piece(struct mf_json *at, const char *key, const struct mf_said *said, size_t i)
{
    const struct mf_span piece = mf_said_piece(said, i);

    put(at, key, said->text.at ? said->text.at + piece.first : "", piece.count);
}

void mf_say_both(struct mf_json *at, const char *key, const struct mf_said *said)
{
    struct mf_bytes both = {0};

    mf_bytes_put(&both, said->prompt->text.at, said->prompt->text.count);
    mf_bytes_put(&both, said->text.at, said->text.count);
    mf_say_text(at, key, &both);
    mf_bytes_free(&both);
}

int mf_said_all(const struct mf_said *said, size_t i) { return said->ended && i + 1 == said->tokens; }

/* Nine digits name every float. */
void mf_say_vector(const float *vector, size_t width, struct mf_bytes *to)
{
    char number[32];

    for (size_t i = 0; i < width; ++i) {
        const int n = isfinite(vector[i]) ? snprintf(number, sizeof number, "%.9g", (double)vector[i])
                                          : snprintf(number, sizeof number, "null");

        mf_bytes_put(to, i ? "," : "[", 1);
        mf_bytes_put(to, number, (size_t)n);
    }
    mf_bytes_put(to, width ? "]" : "[]", width ? 1 : 2);
}

static void put_base64(const unsigned char *three, size_t have, struct mf_bytes *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t bits = (uint32_t)three[0] << 16 | (uint32_t)three[1] << 8 | three[2];

    for (size_t k = 0; k < 4; ++k) mf_bytes_put(to, k <= have ? &digits[bits >> (18 - 6 * k) & 63] : "=", 1);
}

void mf_say_vector_base64(const float *vector, size_t width, struct mf_bytes *to)
{
    unsigned char three[3] = {0};
    size_t have = 0;

    mf_bytes_put(to, "\"", 1);
    for (size_t i = 0; i < 4 * width; ++i) {
        uint32_t bits;

        memcpy(&bits, &vector[i / 4], sizeof bits);
        three[have++] = (unsigned char)(bits >> 8 * (i % 4));
        if (have < 3) continue;
        put_base64(three, have, to);
        memset(three, 0, sizeof three);
        have = 0;
    }
    if (have) put_base64(three, have, to);
    mf_bytes_put(to, "\"", 1);
}
