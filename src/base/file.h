/* System calls on files that go on after a signal interrupts them. */
#ifndef MF_BASE_FILE_H
#define MF_BASE_FILE_H

/** open() that continues after a signal. It sets O_CLOEXEC; the umask decides who may use a new file. -1: see errno. */
int mf_open(const char *path, int flags);

/** fsync() that continues after a signal. 0, or -1 and errno. */
int mf_flush(int descriptor);

#endif
