/* The parts of a model: the blocks of its forward list, and what stands around them. Devices share a model by its parts
 * (device_map.h).
 *
 * A part begins with a block of the builder (mf_build_block(), mf_build_segment()) and has its name, "layers.3". Nodes
 * in front of the first block are "embeddings", those behind the last one "head". Nodes between two blocks belong to
 * the first of them. A block whose name stands twice is none. A list without blocks is one part, "model". Rule: all
 * functions are local. */
#ifndef MF_PLACE_PARTS_H
#define MF_PLACE_PARTS_H

#include "src/net/list.h"

struct mf_part {
    char *name;
    size_t weights, caches; /* bytes of what it reads; what parts share counts in each of them */
    size_t numbers;         /* of its weights; factors of their rows are none */
    size_t work;            /* activations and work memory that live at one time, at most, over all lists [bytes] */
    size_t leaves;          /* activations that the walk makes up to this part, and later ones read [bytes] */
    double operations;      /* floating-point operations of the walk */
};

/** An array that lasts between walks. */
struct mf_part_array {
    char *name; /* that of its value */
    enum mf_type type;
    size_t bytes; /* in memory */
    int is_cache;
    size_t parts, *part; /* [parts] those that touch it, ascending */
};

struct mf_parts {
    size_t count, arrays;
    struct mf_part *part;
    struct mf_part_array *array;
};

/**
 * Puts the number of each node's part into @p part [nodes], for a forward list. Parts are numbered from 0 in the list's
 * order. Lists of one model have the same numbers. Returns how many parts there are. @p names: if not NULL, their
 * names; the caller frees each and the array.
 */
size_t mf_parts_number(const struct mf_list *list, size_t *part, char ***names);

/**
 * Finds the parts of a net of forward lists, behind mf_pass_live(). Bytes are exact. Their number is that of any list.
 * @p walk: the list whose operations and boundaries are told. The caller ends with mf_parts_free().
 */
void mf_parts_find(const struct mf_net *net, const struct mf_list *walk, struct mf_parts *parts);
void mf_parts_free(struct mf_parts *parts);

/** Adds an array that no list has, such as answers of @p part for the host. It counts as a cache. Once at most. */
void mf_parts_add(struct mf_parts *parts, size_t part, const char *name, enum mf_type type, size_t bytes);

/** Does @p part share a weight with another one? Returns the first such part behind @p from; parts->count: none. To
 * begin, @p from is parts->count. */
size_t mf_parts_sharing(const struct mf_parts *parts, size_t part, size_t from);

/** Does the part touch the array? */
int mf_part_has(const struct mf_part_array *array, size_t part);

/** Bytes of the arrays that @p member [parts] have together, each once, and of their work memory. NULL: of all parts.
 */
size_t mf_parts_bytes(const struct mf_parts *parts, const unsigned char *member);

#endif
