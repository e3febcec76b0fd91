/* The pass cores: some nodes of a forward list compute on the cores, and their values stand in host memory. A value
 * that the other side reads is copied behind the node that makes it. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/copies.h"
#include "src/net/pass.h"

enum { DEVICE = 1, CORES = 2 }; /* who touches a memory */

/* The memories of a net [values], of roots. */
struct sides {
    size_t values;
    unsigned char *reads, *writes;
};

static int root_of(const struct mf_net *net, int value) { return mf_value_root(net, value, NULL); }

static void look_at(const struct mf_list *list, const unsigned char *cores, const struct sides *s)
{
    struct mf_operand operand[MF_OPERANDS];

    for (size_t i = 0; i < list->nodes; ++i)
        for (size_t j = mf_node_operands(&list->node[i], operand); j-- > 0;) {
            const int root = root_of(list->net, operand[j].value);
            const unsigned char who = cores[i] ? CORES : DEVICE;

            if (operand[j].access & MF_READS) s->reads[root] |= who;
            if (operand[j].access & MF_WRITES) s->writes[root] |= who;
        }
}

/* A memory is where it is written. A memory that nobody writes is on the device, unless the cores alone read it. */
static enum mf_place place_of(const struct sides *s, int root)
{
    return (s->writes[root] ? s->writes[root] : s->reads[root]) == CORES ? MF_PLACE_HOST : MF_PLACE_DEVICE;
}

static int place_all(struct mf_net *net, const struct sides *s)
{
    for (size_t v = 0; v < s->values; ++v) {
        const int root = root_of(net, (int)v);

        if (s->writes[root] == (DEVICE | CORES) ||
            (net->value[root].role == MF_ROLE_PARAMETER && s->reads[root] == (DEVICE | CORES)))
            return mf_fail(MF_USAGE, "parts on the GPU and on the cores share '%.100s'; give them one device",
                           net->value[root].name);
        net->value[v].place = place_of(s, root);
    }
    return MF_OK;
}

/* -- nodes between nodes on the cores -- */

static int reads(const struct mf_list *list, size_t i, int root)
{
    struct mf_operand operand[MF_OPERANDS];

    for (size_t j = mf_node_operands(&list->node[i], operand); j-- > 0;)
        if (operand[j].access & MF_READS && root_of(list->net, operand[j].value) == root) return 1;
    return 0;
}

/* Does the device read what node @p i writes? */
static int device_reads(const struct mf_list *list, const unsigned char *cores, size_t i)
{
    for (int k = 0; k < MF_OUTS; ++k) {
        const int out = list->node[i].out[k];

        if (out < 0) continue;
        if (list->net->value[out].kept) return 1;
        for (size_t n = i + 1; n < list->nodes; ++n)
            if (!cores[n] && reads(list, n, root_of(list->net, out))) return 1;
    }
    return 0;
}

/* The cores made all that it reads. They alone read what it writes. Last writers are in @p maker [values]; -1: none. */
static int is_between(const struct mf_list *list, const unsigned char *cores, const ptrdiff_t *maker, size_t i)
{
    struct mf_operand operand[MF_OPERANDS];
    size_t found = 0;

    for (size_t j = mf_node_operands(&list->node[i], operand); j-- > 0;) {
        const ptrdiff_t from = maker[root_of(list->net, operand[j].value)];

        if (!(operand[j].access & MF_READS)) continue;
        if (from < 0 || !cores[from]) return 0;
        ++found;
    }
    return found > 0 && !device_reads(list, cores, i);
}

/* So nothing is copied to the device and back at once. */
static void take_between(const struct mf_list *list, unsigned char *cores)
{
    ptrdiff_t *maker = MF_MUST(malloc((list->net->values + 1) * sizeof *maker), "makers");
    struct mf_operand operand[MF_OPERANDS];

    for (size_t v = 0; v < list->net->values; ++v) maker[v] = -1;
    for (size_t i = 0; i < list->nodes; ++i) {
        if (!cores[i]) cores[i] = (unsigned char)is_between(list, cores, maker, i);
        for (size_t j = mf_node_operands(&list->node[i], operand); j-- > 0;)
            if (operand[j].access & MF_WRITES) maker[root_of(list->net, operand[j].value)] = (ptrdiff_t)i;
    }
    free(maker);
}

/* -- copies -- */

struct carried {
    ptrdiff_t behind; /* the node that made it; -1: the host did */
    int from, to;
};

struct carrying {
    struct mf_list *list;
    ptrdiff_t *maker; /* [values] the last node that wrote the memory; -1: none */
    int *twin;        /* [values] the same numbers in the other memory; -1: they are not there */
    struct carried *carried;
    size_t count;
};

/* The copy of a memory in the other one. */
static int twin_of(struct carrying *c, int root)
{
    struct mf_net *net = c->list->net;
    const enum mf_place other = net->value[root].place == MF_PLACE_HOST ? MF_PLACE_DEVICE : MF_PLACE_HOST;
    int twin = c->twin[root];

    if (twin >= 0) return twin;
    twin = mf_value_new(net, MF_ROLE_ACTIVATION, net->value[root].shape, "%s", net->value[root].name);
    net->value[twin].place = other;
    c->twin[root] = twin;
    c->carried = MF_MUST(realloc(c->carried, (c->count + 1) * sizeof *c->carried), "copies");
    c->carried[c->count++] = (struct carried){c->maker[root], root, twin};
    return twin;
}

/* A node reads this instead of @p value. */
static int read_here(struct carrying *c, int value, enum mf_place here)
{
    struct mf_net *net = c->list->net;
    struct mf_shape shape;
    size_t shift;
    int root, twin;

    if (value < 0) return value;
    root = mf_value_root(net, value, &shift);
    if (net->value[root].place == here) return value;
    shape = net->value[value].shape;
    twin = twin_of(c, root);
    if (value == root) return twin;
    value = mf_value_view(net, twin, shift, shape, "&");
    net->value[value].place = here;
    return value;
}

/* A node that changes what it reads is where that is. */
static void carry(struct carrying *c, size_t i, enum mf_place here)
{
    struct mf_node *node = &c->list->node[i];
    struct mf_operand operand[MF_OPERANDS];

    for (int j = 0; j < MF_INS; ++j) node->in[j] = read_here(c, node->in[j], here);
    for (size_t j = mf_node_operands(node, operand); j-- > 0;) {
        const int root = root_of(c->list->net, operand[j].value);

        if (!(operand[j].access & MF_WRITES)) continue;
        c->maker[root] = (ptrdiff_t)i;
        c->twin[root] = -1;
    }
}

static void put_copies(const struct carrying *c, ptrdiff_t behind)
{
    for (size_t k = 0; k < c->count; ++k) {
        const struct carried *one = &c->carried[k];

        if (one->behind != behind) continue;
        mf_copy_begin(c->list, c->list->nodes, one->from, one->to);
        mf_copy_end(c->list, c->list->nodes, one->from, one->to, MF_WAITS_HOST);
    }
}

static void insert_copies(const struct carrying *c)
{
    struct mf_list *list = c->list;
    struct mf_node *node = list->node;
    const size_t nodes = list->nodes;

    list->node = NULL;
    list->nodes = list->room_for = 0;
    put_copies(c, -1);
    for (size_t i = 0; i < nodes; ++i) {
        free(mf_list_insert(list, list->nodes, node[i].op, "")->name);
        list->node[list->nodes - 1] = node[i];
        put_copies(c, (ptrdiff_t)i);
    }
    free(node);
}

static void carry_all(struct mf_list *list, const unsigned char *cores, size_t values)
{
    struct carrying c = {.list = list};

    c.maker = MF_MUST(malloc((values + 1) * sizeof *c.maker), "makers");
    c.twin = MF_MUST(malloc((values + 1) * sizeof *c.twin), "copies");
    for (size_t v = 0; v < values; ++v) c.maker[v] = c.twin[v] = -1;
    for (size_t i = 0; i < list->nodes; ++i) carry(&c, i, cores[i] ? MF_PLACE_HOST : MF_PLACE_DEVICE);
    insert_copies(&c);
    free(c.maker);
    free(c.twin);
    free(c.carried);
}

int mf_pass_cores(struct mf_net *net, unsigned char *const *cores)
{
    struct sides s = {.values = net->values};
    int rc;

    s.reads = MF_MUST(calloc(s.values + 1, 1), "marks");
    s.writes = MF_MUST(calloc(s.values + 1, 1), "marks");
    for (size_t k = 0; k < net->lists; ++k) take_between(net->list[k], cores[k]);
    for (size_t k = 0; k < net->lists; ++k) look_at(net->list[k], cores[k], &s);
    rc = place_all(net, &s);
    for (size_t k = 0; rc == MF_OK && k < net->lists; ++k) carry_all(net->list[k], cores[k], s.values);
    free(s.reads);
    free(s.writes);
    return rc;
}
