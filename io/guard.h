/* Parses hostile files safely: the work runs in a child process with limits and returns its result through a pipe.
 * Rule: a crash, an endless loop or a library that ends the process is a refusal like any other. */
#ifndef MF_IO_GUARD_H
#define MF_IO_GUARD_H

#include <stdio.h>

/** Processor time of opening a file, in all [s]; and of decoding so many bytes, at the slowest that is believed. */
#define MF_GUARD_SECONDS         10.0
#define MF_GUARD_DECODING(bytes) (MF_GUARD_SECONDS + (double)(bytes) / 5e6)

/**
 * Runs @p work in a child of this process; what it writes to @p to is what @p take reads from @p from, here, at the
 * same time. The child's refusal (code and sentence) becomes the parent's. @p take may stop early; it must not trust
 * what it reads more than the file itself. @p take NULL: nothing is read. @p seconds: most processor time of the child;
 * what children of @p path took of the MF_GUARD_SECONDS in it (a second of each is free) later ones have no more, so a
 * damaged file that is opened several times does not cost it each time.
 * Not collective; the child must make no MPI call and start no thread. Refuses with @p work's or @p take's code, or
 * MF_INPUT naming @p path when the child died.
 */
int mf_guard(const char *path, double seconds, int (*work)(void *context, FILE *to),
             int (*take)(void *context, FILE *from), void *context);

/** fwrite / fread of the whole of it, for work and take. Refuse with MF_INPUT. */
int mf_guard_send(FILE *to, const void *what, size_t bytes);
int mf_guard_receive(FILE *from, void *what, size_t bytes);

/** Ends a text of a stranger in its @p room and takes what could steer a terminal out of it; lines stay lines. */
void mf_guard_tame(char *text, size_t room);

#endif
