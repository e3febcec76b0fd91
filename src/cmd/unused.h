/* Options that were given and have no effect. */
#ifndef MF_CMD_UNUSED_H
#define MF_CMD_UNUSED_H

#include "src/cmd/common.h"

/** Warns once of given @p words (NULL-terminated) without effect, and says why (printf format). Local. */
__attribute__((format(printf, 3, 4))) void mf_unused(const struct mf_session *session, const char *const *words,
                                                     const char *why, ...);

/** The same of words in the call, with a reason that is no format. */
#define MF_UNUSED(session, why, ...) mf_unused(session, (const char *const[]){__VA_ARGS__, NULL}, "%s", why)

#endif
