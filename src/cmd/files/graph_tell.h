/* Text of info about the knowledge graph of a mixture of experts. */
#ifndef MF_CMD_FILES_GRAPH_TELL_H
#define MF_CMD_FILES_GRAPH_TELL_H

#include "src/base/json.h"

/** Does the name end as that of a graph does? */
int mf_graph_named(const char *file);

/** A table of experts: rows, how special each is, and how many others it is related to. Columns of concepts have their
 * share in its samples. The strongest relations follow. @p json: NULL: text; else what the file holds goes there.
 * Local; MF_INPUT. */
int mf_graph_tell(const char *file, struct mf_json *json);

#endif
