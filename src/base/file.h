/* System calls on files that go on after a signal interrupts them. */
#ifndef MF_BASE_FILE_H
#define MF_BASE_FILE_H

/** open() that a signal does not end; O_CLOEXEC, and a new file is for whom the umask lets. -1: see errno. */
int mf_open(const char *path, int flags);

/** fsync() that a signal does not end. 0, or -1 and errno. */
int mf_flush(int descriptor);

#endif
