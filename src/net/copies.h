/* Inner header of this folder: nodes that copy between the memories. */
#ifndef MF_NET_COPIES_H
#define MF_NET_COPIES_H

#include "src/net/list.h"

/** Insert, before node @p at, the beginning or the end of a copy from @p from to @p to, which is in the other memory.
 * @p to -1: only the source is wanted again. */
void mf_copy_begin(struct mf_list *list, size_t at, int from, int to);
void mf_copy_end(struct mf_list *list, size_t at, int from, int to, enum mf_waits waits);

#endif
