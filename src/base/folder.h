/* A temporary folder: makes one, and removes it with its contents. */
#ifndef MF_BASE_FOLDER_H
#define MF_BASE_FOLDER_H

/** Makes one; @p path ends in "XXXXXX", which is replaced. MF_OUTPUT. */
int mf_folder_make(char *path);

/** Removes it and all that is in it. */
void mf_folder_remove(const char *path);

#endif
