/* Post-processors: the special tokens around one text or two. */
#ifndef MF_TEXT_FRAME_H
#define MF_TEXT_FRAME_H

#include "src/text/buffer.h"
#include "src/text/read.h"

enum { MF_FRAME_MOST = 64 /* parts of a frame */ };
enum mf_frame_kind { MF_FRAME_TOKEN, MF_FRAME_FIRST, MF_FRAME_SECOND };

/** Parts in order: a token, or all of the first or second text, with their type (segment). */
struct mf_frame {
    size_t count;
    struct mf_frame_part {
        enum mf_frame_kind kind;
        uint32_t token, type;
    } part[MF_FRAME_MOST];
};

struct mf_frames {
    struct mf_frame one, two; /* for one text, for two */
};

/**
 * Reads a post-processor: TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, or a Sequence. ByteLevel
 * changes no token. A Sequence has at most one of the others. Null puts no tokens. Refuses with MF_INPUT other types,
 * and tokens beyond @p numbers.
 */
int mf_frames_read(const struct mf_part *part, size_t numbers, struct mf_frames *frames);

#endif
