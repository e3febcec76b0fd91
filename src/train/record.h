/* A record: what the first mixture of a network made of one row, as floats in host memory. Sleep learns from records.
 * All functions are local. */
#ifndef MF_TRAIN_RECORD_H
#define MF_TRAIN_RECORD_H

#include "src/train/network.h"

/** The first numbers of a record. The ids of its experts follow, largest weight first; -1: none. */
enum { MF_RECORD_UNCERTAINTY, MF_RECORD_GROUP, MF_RECORD_IDS };

/** Sizes, and where the other parts of a record begin. */
struct mf_record {
    size_t columns; /* of the mixture's input */
    size_t hidden;  /* of the input of the router's last layer; 0: it is that of the mixture */
    size_t top, outputs;
    size_t weight, input, inner, output; /* [top], [columns], [hidden], [top][outputs] */
    size_t numbers;                      /* of all */
};

/** The records of a network with a mixture. */
struct mf_record mf_record_of(const struct mf_network *network);

/** Records in at most so many bytes, and at most @p most of them. */
size_t mf_record_room(const struct mf_record *record, size_t most, size_t bytes);

/** Where a look at a batch (src/moe/look.h) has its arrays: numbers of four bytes in one piece of host memory. */
struct mf_look_layout {
    size_t rows, sorted_rows; /* of a batch; of all outputs of experts, in the order of the experts */
    size_t input, inner, score, weight, choice, output, place, raw, sorted;
    size_t bytes;
};

struct mf_look_layout mf_look_layout_of(const struct mf_network *network);

/** Numbers of a survey of experts (src/moe/look.h): [experts][groups], [experts], [experts][columns]. */
static inline size_t mf_survey_numbers(size_t experts, size_t groups, size_t columns)
{
    return experts * (groups + 1 + columns);
}

/** The input of the router's last layer. */
static inline const float *mf_record_inner(const struct mf_record *r, const float *record)
{
    return record + (r->hidden ? r->inner : r->input);
}

static inline size_t mf_record_inners(const struct mf_record *r) { return r->hidden ? r->hidden : r->columns; }

#endif
