/* Formats that the program does not read.
 * Rule: a format that users are likely to give is named, with what to do. */
#ifndef MF_IO_UNREAD_H
#define MF_IO_UNREAD_H

#include <stddef.h>

enum { MF_UNREAD_HEAD = 512 };

/** Refuses a pointer of Git LFS, which stands for a file that was not fetched: MF_INPUT. */
int mf_unread_pointer(const char *path, const unsigned char *head, size_t n);

/** Refuses a file by its first bytes. MF_INPUT. */
int mf_unread(const char *path, const unsigned char *head, size_t n);

#endif
