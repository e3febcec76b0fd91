/* See parts.h. */
#include "src/place/parts.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/net/pass.h"
#include "src/net/uses.h"
#include "src/place/names.h"

/* -- names of blocks -- */

/* Bytes of the words between dots that two names begin with. */
static size_t common_words(const char *a, const char *b)
{
    size_t common = 0, i = 0;

    for (; a[i] && a[i] == b[i]; ++i)
        if (a[i] == '.') common = i;
    return (!a[i] || a[i] == '.') && (!b[i] || b[i] == '.') ? i : common;
}

/* Leaves a name its words up to the first number, "blocks.3" of "blocks.3.attn", where no other has these: a network
 * with blocks in stages keeps "stages.0.blocks.1". */
static void shorten(char **name, size_t n)
{
    char **cut = MF_MUST(calloc(n, sizeof *cut), "names of blocks");

    for (size_t k = 0; k < n; ++k)
        if (name[k]) mf_name_cut(cut[k] = mf_format("%s", name[k]));
    for (size_t k = 0; k < n; ++k) {
        size_t same = 0;

        for (size_t i = 0; cut[k] && i < n; ++i) same += cut[i] && strcmp(cut[i], cut[k]) == 0;
        if (same == 1) strcpy(name[k], cut[k]);
    }
    for (size_t k = 0; k < n; ++k) free(cut[k]);
    free(cut);
}

/* The name of each segment of a list [segments + 1]; NULL: it is none. */
static char **block_names(const struct mf_list *list)
{
    const size_t n = (size_t)list->segments + 1;
    char **name = MF_MUST(calloc(n, sizeof *name), "names of blocks");

    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];
        char **own = &name[node->segment];

        if (node->segment == 0) continue;
        if (*own)
            (*own)[common_words(*own, node->name)] = '\0';
        else
            *own = mf_format("%s", node->name);
    }
    shorten(name, n);
    for (size_t k = 1; k < n; ++k) {
        if (!name[k] || *name[k]) continue;
        free(name[k]);
        name[k] = mf_format("block.%zu", k - 1);
    }
    return name;
}

static int by_name(const void *a, const void *b) { return strcmp(**(char **const *)a, **(char **const *)b); }

static void drop_doubles(char **name, size_t n)
{
    char ***sorted = MF_MUST(malloc((n + 1) * sizeof(char **)), "names of blocks");
    size_t count = 0;

    for (size_t k = 0; k < n; ++k)
        if (name[k]) sorted[count++] = &name[k];
    qsort(sorted, count, sizeof(char **), by_name);
    for (size_t k = 0, end; k < count; k = end) {
        for (end = k + 1; end < count && strcmp(*sorted[k], *sorted[end]) == 0;) ++end;
        for (size_t i = k; end > k + 1 && i < end; ++i) {
            free(*sorted[i]);
            *sorted[i] = NULL;
        }
    }
    free(sorted);
}

/* -- numbers of parts -- */

size_t mf_parts_number(const struct mf_list *list, size_t *part, char ***names)
{
    const size_t n = (size_t)list->segments + 1;
    char **block = block_names(list), **all = MF_MUST(calloc(n + 2, sizeof *all), "names of parts");
    size_t *number = MF_MUST(calloc(n, sizeof *number), "numbers of parts"); /* from 1 */
    size_t count = 0, last = 0, now = 0, blocks = 0;

    drop_doubles(block, n);
    for (size_t i = 0; i < list->nodes; ++i)
        if (block[list->node[i].segment]) {
            last = i;
            ++blocks;
        }
    for (size_t i = 0; i < list->nodes; ++i) {
        const int s = list->node[i].segment;
        const int is_head = blocks > 0 && i > last;

        if (block[s] && number[s] == 0) {
            all[count] = mf_format("%s", block[s]);
            number[s] = ++count;
        } else if (count == 0 || (is_head && number[0] == 0)) {
            all[count] = mf_format("%s", is_head ? "head" : blocks ? "embeddings" : "model");
            now = ++count;
            number[0] = is_head ? now : 0;
        }
        now = block[s] ? number[s] : is_head ? number[0] : now;
        part[i] = now - 1;
    }
    for (size_t k = 0; k < n; ++k) free(block[k]);
    free(block);
    free(number);
    for (size_t k = 0; !names && k < count; ++k) free(all[k]);
    if (names)
        *names = all;
    else
        free(all);
    return count;
}

/* -- what they hold -- */

struct finding {
    const struct mf_net *net;
    struct mf_parts *parts;
    unsigned char *touched; /* [values][parts] */
    size_t *part, *alive;   /* [nodes] of a list */
};

/* An activation goes from the part that first writes it to the last one that reads it. */
static void count_boundaries(const struct finding *f, const struct mf_use *use, size_t n, size_t bytes)
{
    size_t from = f->parts->count, to = 0;

    for (size_t k = 0; k < n; ++k) {
        if (use[k].access & MF_WRITES && from == f->parts->count) from = f->part[use[k].node];
        if (use[k].access & MF_READS) to = f->part[use[k].node];
    }
    for (; from < to; ++from) f->parts->part[from].leaves += bytes;
}

static void look_at_values(const struct finding *f, const struct mf_list *list, int is_walk)
{
    struct mf_uses uses;

    mf_uses_make(list, &uses);
    for (size_t v = 0; v < f->net->values; ++v) {
        const struct mf_value *value = &f->net->value[v];
        const struct mf_use *use = &uses.use[uses.first[v]];
        const size_t n = uses.first[v + 1] - uses.first[v];

        for (size_t k = 0; value->lasting && k < n; ++k) f->touched[v * f->parts->count + f->part[use[k].node]] = 1;
        if (is_walk && !value->lasting && value->role != MF_ROLE_INPUT)
            count_boundaries(f, use, n, mf_shape_bytes(&value->shape));
    }
    mf_uses_free(&uses);
}

static void look_at_list(struct finding *f, const struct mf_list *list, int is_walk)
{
    f->part = MF_MUST(realloc(f->part, (list->nodes + 1) * sizeof *f->part), "numbers of parts");
    f->alive = MF_MUST(realloc(f->alive, (list->nodes + 1) * sizeof *f->alive), "bytes of nodes");
    MF_ASSERT(mf_parts_number(list, f->part, NULL) == f->parts->count);
    mf_list_alive(list, f->alive);
    look_at_values(f, list, is_walk);
    for (size_t i = 0; i < list->nodes; ++i) {
        struct mf_part *p = &f->parts->part[f->part[i]];

        if (f->alive[i] > p->work) p->work = f->alive[i];
        if (is_walk) p->operations += mf_node_operations(f->net, &list->node[i]);
    }
}

static void add_array(const struct finding *f, size_t v)
{
    const struct mf_value *value = &f->net->value[v];
    struct mf_parts *parts = f->parts;
    struct mf_part_array *a = &parts->array[parts->arrays];
    const unsigned char *touched = f->touched + v * parts->count;

    *a = (struct mf_part_array){.type = value->shape.type,
                                .bytes = mf_whole_lines(mf_shape_bytes(&value->shape)),
                                .is_cache = value->role != MF_ROLE_PARAMETER};
    for (size_t p = 0; p < parts->count; ++p) {
        struct mf_part *part = &parts->part[p];

        if (!touched[p]) continue;
        a->part = MF_MUST(realloc(a->part, (a->parts + 1) * sizeof *a->part), "parts");
        a->part[a->parts++] = p;
        *(a->is_cache ? &part->caches : &part->weights) += a->bytes;
        if (!a->is_cache && !(value->weight && value->weight->set == MF_SET_BORROWED))
            part->numbers += mf_shape_count(&value->shape);
    }
    if (a->parts == 0) return; /* no list touches it */
    a->name = mf_format("%s", value->name);
    ++parts->arrays;
}

void mf_parts_find(const struct mf_net *net, const struct mf_list *walk, struct mf_parts *parts)
{
    struct finding f = {.net = net, .parts = parts};
    char **names;

    f.part = MF_MUST(malloc((walk->nodes + 1) * sizeof *f.part), "numbers of parts");
    *parts = (struct mf_parts){.count = mf_parts_number(walk, f.part, &names)};
    parts->part = MF_MUST(calloc(parts->count + 1, sizeof *parts->part), "parts");
    parts->array = MF_MUST(calloc(net->values + 1, sizeof *parts->array), "arrays of parts");
    f.touched = MF_MUST(calloc(net->values + 1, parts->count + 1), "marks");
    for (size_t p = 0; p < parts->count; ++p) parts->part[p].name = names[p];
    for (size_t k = 0; k < net->lists; ++k) look_at_list(&f, net->list[k], net->list[k] == walk);
    for (size_t v = 0; v < net->values; ++v)
        if (net->value[v].lasting) add_array(&f, v);
    free(names);
    free(f.part);
    free(f.alive);
    free(f.touched);
}

void mf_parts_add(struct mf_parts *parts, size_t part, const char *name, enum mf_type type, size_t bytes)
{
    struct mf_part_array *a = &parts->array[parts->arrays++]; /* there is room for one more than there are values */

    *a = (struct mf_part_array){.name = mf_format("%s", name), .type = type, .bytes = bytes, .is_cache = 1, .parts = 1};
    a->part = MF_MUST(calloc(1, sizeof *a->part), "parts of an array");
    *a->part = part;
    parts->part[part].caches += bytes;
}

void mf_parts_free(struct mf_parts *parts)
{
    for (size_t p = 0; p < parts->count; ++p) free(parts->part[p].name);
    for (size_t a = 0; a < parts->arrays; ++a) {
        free(parts->array[a].name);
        free(parts->array[a].part);
    }
    free(parts->part);
    free(parts->array);
    *parts = (struct mf_parts){0};
}

int mf_part_has(const struct mf_part_array *a, size_t part)
{
    size_t k = 0;

    while (k < a->parts && a->part[k] != part) ++k;
    return k < a->parts;
}

size_t mf_parts_sharing(const struct mf_parts *parts, size_t part, size_t from)
{
    size_t next = parts->count;

    for (size_t a = 0; a < parts->arrays; ++a)
        for (size_t k = 0; mf_part_has(&parts->array[a], part) && k < parts->array[a].parts; ++k) {
            const size_t other = parts->array[a].part[k];

            if (other != part && (from == parts->count || other > from) && other < next) next = other;
        }
    return next;
}

size_t mf_parts_bytes(const struct mf_parts *parts, const unsigned char *member)
{
    size_t bytes = 0, work = 0;

    for (size_t a = 0; a < parts->arrays; ++a) {
        size_t k = 0;

        while (member && k < parts->array[a].parts && !member[parts->array[a].part[k]]) ++k;
        bytes += k < parts->array[a].parts ? parts->array[a].bytes : 0;
    }
    for (size_t p = 0; p < parts->count; ++p)
        if ((!member || member[p]) && parts->part[p].work > work) work = parts->part[p].work;
    return bytes + work;
}
