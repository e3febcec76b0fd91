/* Lists of names in sentences: "a, b, c, ..". */
#ifndef MF_BASE_ENUMERATE_H
#define MF_BASE_ENUMERATE_H

#include <stddef.h>

/** Adds an item to the list @p text [room], which begins as "". An item that does not fit, and those after it, are
 * ", ..". */
void mf_enumerate(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
