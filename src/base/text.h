/* Small questions about strings. */
#ifndef MF_BASE_TEXT_H
#define MF_BASE_TEXT_H

/** Does @p text end with @p ending, capitals or not? So are kinds of files told by their names everywhere. */
int mf_ends_with(const char *text, const char *ending);

#endif
