/* A row of attention_kept sees a part of a cache, and pick the tokens in one. Back ends share this. See text.c. */
#ifndef MF_KERNELS_NET_KEPT_H
#define MF_KERNELS_NET_KEPT_H

#include <math.h>
#include <stdint.h>

#include "kernels/form/hd.h"
#include "kernels/op.h"

enum { MF_KEPT_PAGE = 16, MF_KEPT_HEAD = 256 }; /* positions of a page; most numbers of a head */

/** Wishes and numbers of a row of pick. */
enum { MF_PICK_WISHES = 4, MF_PICK_NUMBERS = 5 };

struct mf_kept {
    size_t rows, slots, requests, pages; /* pages of a request */
    size_t heads, groups, d;             /* heads of queries; heads of keys and values; numbers of a head */
    size_t window;                       /* 0: none */
    float scale;                         /* of the scores: 1 / sqrt(d) */
    const int32_t *page;                 /* [requests][pages] */
    const int32_t *row;                  /* [rows][2] request, position */
};

/** The shapes fit (mf_op.shape). */
static inline struct mf_kept mf_kept_of(const struct mf_call *call)
{
    const struct mf_tensor *in = call->in;
    const size_t heads = (size_t)call->attr->heads, columns = mf_shape_last(&in[0].shape);

    return (struct mf_kept){.rows = mf_shape_rows(&in[0].shape),
                            .slots = in[1].shape.d[0],
                            .requests = in[3].shape.d[0],
                            .pages = in[3].shape.d[1],
                            .heads = heads,
                            .groups = call->attr->kv_heads ? (size_t)call->attr->kv_heads : heads,
                            .d = columns / heads,
                            .window = call->attr->window,
                            .scale = 1 / sqrtf((float)(columns / heads)),
                            .page = (const int32_t *)in[3].at,
                            .row = (const int32_t *)in[4].at};
}

/** Row @p r sees positions [first, end) of its request; blank rows see none. */
MF_HD void mf_kept_sees(const struct mf_kept *k, size_t r, size_t *first, size_t *end)
{
    const int32_t request = k->row[2 * r], position = k->row[2 * r + 1];
    const size_t all = (size_t)position + 1, most = k->pages * MF_KEPT_PAGE;

    *first = *end = 0;
    if (request < 0 || (size_t)request >= k->requests || position < 0) return;
    *end = all < most ? all : most;
    if (k->window > 0 && all > k->window) *first = all - k->window < *end ? all - k->window : *end;
}

/** The slot of the first position of a request's page @p i, or -1: it has none. */
MF_HD int64_t mf_kept_slot(const struct mf_kept *k, int32_t request, size_t i)
{
    const int64_t page = k->page[(size_t)request * k->pages + i];

    return page < 0 || (uint64_t)(page + 1) * MF_KEPT_PAGE > k->slots ? -1 : page * MF_KEPT_PAGE;
}

/** The tokens of requests, in pages. */
struct mf_past {
    size_t slots, requests, pages; /* pages of a request */
    int32_t vocabulary;
    const int32_t *token; /* [slots]; NULL: they are not known */
    const int32_t *page;  /* [requests][pages] */
};

/** The past that a call of pick may know. */
static inline struct mf_past mf_past_of(const struct mf_call *call)
{
    const struct mf_tensor *in = call->in;

    return (struct mf_past){.slots = in[3].shape.d[0],
                            .requests = in[4].shape.d[0],
                            .pages = in[4].shape.d[1],
                            .vocabulary = (int32_t)in[0].shape.d[1],
                            .token = (const int32_t *)in[3].at,
                            .page = (const int32_t *)in[4].at};
}

/** The token of a request at a position, or -1: it is not there. */
MF_HD int32_t mf_past_token(const struct mf_past *p, int32_t request, size_t position)
{
    const size_t i = position / MF_KEPT_PAGE;
    int32_t page, token;

    if (request < 0 || (size_t)request >= p->requests || i >= p->pages) return -1;
    page = p->page[(size_t)request * p->pages + i];
    if (page < 0 || ((size_t)page + 1) * MF_KEPT_PAGE > p->slots) return -1;
    token = p->token[(size_t)page * MF_KEPT_PAGE + position % MF_KEPT_PAGE];
    return token < p->vocabulary ? token : -1;
}

#endif
