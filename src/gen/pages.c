/* See pages.h. */
#include "src/gen/pages.h"

#include <stdlib.h>

#include "src/base/err.h"

void mf_pages_open(struct mf_pages *p, size_t requests, size_t each, size_t count)
{
    *p = (struct mf_pages){.requests = requests, .each = each, .pages = count, .left = count};
    p->page = MF_MUST(malloc((requests * each + 1) * sizeof *p->page), "pages");
    p->spare = MF_MUST(malloc((count + 1) * sizeof *p->spare), "pages");
    for (size_t i = 0; i < requests * each; ++i) p->page[i] = -1;
    for (size_t i = 0; i < count; ++i) p->spare[i] = (int32_t)(count - 1 - i); /* the first ones first */
}

void mf_pages_close(struct mf_pages *p)
{
    free(p->page);
    free(p->spare);
    *p = (struct mf_pages){0};
}

int mf_pages_take(struct mf_pages *p, size_t k, size_t count)
{
    if (count > p->left || count > p->each) return 0;
    for (size_t i = 0; i < count; ++i) p->page[k * p->each + i] = p->spare[--p->left];
    return 1;
}

void mf_pages_give(struct mf_pages *p, size_t k)
{
    for (size_t i = 0; i < p->each; ++i) {
        int32_t *page = &p->page[k * p->each + i];

        if (*page >= 0) p->spare[p->left++] = *page;
        *page = -1;
    }
}
