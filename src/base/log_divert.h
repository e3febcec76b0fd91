/* Lines of the log that a caller takes itself, as those about a client's image, or those of a library. */
#ifndef MF_BASE_LOG_DIVERT_H
#define MF_BASE_LOG_DIVERT_H

#include "src/base/log.h"

/** From here on lines of this thread, of all levels, go to @p take, and are not printed. With NULL they are printed
 * again; in a guest (guest.h) they are dropped. */
void mf_log_divert(void (*take)(void *context, enum mf_log_level level, const char *line), void *context);

/** Likewise for the steps of mf_progress(), of which @p share (0 to 1) is done; less than 0: nobody knows. */
void mf_progress_divert(void (*take)(void *context, const char *what, double share), void *context);

#endif
