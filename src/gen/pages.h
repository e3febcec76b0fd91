/* Pages of caches: which request has which. All functions are local. */
#ifndef MF_GEN_PAGES_H
#define MF_GEN_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct mf_pages {
    size_t requests, each, pages;
    int32_t *page;  /* [requests][each]; -1: none */
    int32_t *spare; /* [left] those that nobody has */
    size_t left;
};

void mf_pages_open(struct mf_pages *pages, size_t requests, size_t each, size_t count);
void mf_pages_close(struct mf_pages *pages);

/** Gives request @p k so many pages: 1. 0: there are fewer. */
int mf_pages_take(struct mf_pages *pages, size_t k, size_t count);

/** Takes back all pages of request @p k. */
void mf_pages_give(struct mf_pages *pages, size_t k);

/** Page number @p i of a request. */
static inline int32_t mf_pages_at(const struct mf_pages *pages, size_t k, size_t i)
{
    return pages->page[k * pages->each + i];
}

#endif
