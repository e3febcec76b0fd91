/* Names of files. */
#ifndef MF_CMD_NAMES_H
#define MF_CMD_NAMES_H

/** File name without folder and ending. NULL without memory; the caller frees. */
char *mf_stem(const char *path);

#endif
