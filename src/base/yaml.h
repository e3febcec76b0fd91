/* Small files that people write in YAML, as the tree that a file in JSON has. */
#ifndef MF_BASE_YAML_H
#define MF_BASE_YAML_H

#include "src/base/json.h"

/** Reads a mapping from a file of at most @p most bytes. All its values are texts; null and nothing are null. JSON with
 * texts is YAML, too. Refuses with MF_INPUT, naming line and column: no YAML, no mapping, a key twice, references,
 * tags, more than one document. The caller frees. Local. */
int mf_yaml_load(const char *path, size_t most, struct mf_json **value);

#endif
