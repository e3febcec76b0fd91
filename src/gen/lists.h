/* The lists of an engine over one net: chunks of a prompt, and steps of 1, 2, 4, .. requests. They share weights and
 * caches. Their memory is exact before anything is taken: net->lasting + net->room. All functions are local. */
#ifndef MF_GEN_LISTS_H
#define MF_GEN_LISTS_H

#include "src/model/decoder.h"
#include "src/net/pass.h"

struct mf_queue;
struct mf_parts;
struct mf_device_map;

enum { MF_GEN_CHUNK = 256 /* rows of a prompt that go through together, at most */ };
enum { MF_GEN_REQUESTS = 4096 /* at a time, at most */ };
enum { MF_GEN_PROMPTS = 3, MF_GEN_STEPS = 24, MF_GEN_POSITIONS = 1 << 26 /* of all requests, at most */ };

/** Pages of so many positions. */
static inline size_t mf_pages_of(size_t positions) { return (positions + MF_KEPT_PAGE - 1) / MF_KEPT_PAGE; }

/** For what the lists are. */
struct mf_gen_size {
    size_t requests, context; /* at a time; positions of one */
    int logits;               /* those of all rows of a prompt are wanted (seen) */
    size_t pages;             /* of MF_KEPT_PAGE positions, of all requests; 0: each may have its context */
};

/** Weights that are not on the device. They come while lists are walked (mf_pass_stream()). */
struct mf_gen_stream {
    size_t parts;       /* of this rank's; more than there are: all */
    size_t ranks, rank; /* ranks that cut them, and this one's number; 0, 0: they stand in host memory */
};

/** How ranks share a model. Each stage of a pipeline has some of its nodes, and its ranks share every layer. */
struct mf_gen_ways {
    struct mf_partners tensor; /* ranks of this rank's stage; 1: it is alone */
    size_t stages, stage;      /* 1, 0: there is no pipeline */
    const struct mf_parts *parts;
    const struct mf_device_map *placement; /* of the parts; devices are stages */
    int has_cores; /* one rank is alone, and device `cores` of the placement is its cores beside its GPU */
    size_t cores;
    struct mf_gen_stream stream;
};

struct mf_gen_lists {
    struct mf_net *net;
    struct mf_decoder_room room;
    struct mf_decoder_list prompt[MF_GEN_PROMPTS]; /* chunks of 16, 64 and 256 rows */
    struct mf_decoder_list seen;                   /* all rows of a prompt are answered; rows 0: there is none */
    struct mf_decoder_list step[MF_GEN_STEPS];     /* of 1, 2, 4, .. rows */
    size_t steps;
    size_t rows, answers;      /* of the largest list */
    int answering;             /* the stage that picks tokens */
    unsigned char *link;       /* [stages][stages] messages pass; NULL: there is one stage */
    struct mf_layout streamed; /* weights that are not on the device */
    size_t parts;              /* of this rank, on the device or not; 0: nobody asked */
};

/** Refuses with MF_USAGE a context that the model of @p folder has no table for. Local. */
int mf_gen_check_context(const struct mf_language *model, const char *folder, size_t context);

/** Builds and plans the lists of a rank for @p queue, which may be dry. One rank has the model where @p ways is NULL.
 * Values that the nodes of a rank do not touch are -1 in its lists. Takes no memory for weights or caches. Refuses with
 * MF_USAGE, MF_MEMORY, MF_DEVICE. mf_gen_lists_free() in any case. */
int mf_gen_lists_make(const struct mf_language *model, const struct mf_gen_size *size, const struct mf_gen_ways *ways,
                      struct mf_queue *queue, struct mf_gen_lists *lists);

/** Bytes of host memory that an engine takes beside the lists: logits for the host. */
static inline size_t mf_gen_lists_host(const struct mf_language *model, const struct mf_gen_lists *lists)
{
    return lists->answers * model->vocabulary * sizeof(float);
}

void mf_gen_lists_free(struct mf_gen_lists *lists, struct mf_queue *queue);

#endif
