/* Lines of the log that a caller takes itself, such as those about the image of a client. */
#ifndef MF_BASE_LOG_DIVERT_H
#define MF_BASE_LOG_DIVERT_H

/** From here on lines of this thread go to @p take, and are not printed. With NULL they are printed again. @p warns is
 * 1 for a warning. */
void mf_log_divert(void (*take)(void *context, int warns, const char *line), void *context);

#endif
