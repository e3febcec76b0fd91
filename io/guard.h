/* Parses hostile files safely. The work runs in a child process with limits and returns its result through a pipe.
 * Rule: a crash, an endless loop or a library that ends the process becomes a refusal like any other. A guest
 * (src/base/guest.h) starts no child. It refuses, or works in the process where its host trusts the files. */
#ifndef MF_IO_GUARD_H
#define MF_IO_GUARD_H

#include <stddef.h>
#include <stdio.h>

/** Limits of processor time [s]: for opening a file, and for decoding bytes at the slowest credible rate. */
#define MF_GUARD_SECONDS         10.0
#define MF_GUARD_DECODING(bytes) (MF_GUARD_SECONDS + (double)(bytes) / 5e6)

/**
 * Runs @p work in a child process, which writes to @p to. Meanwhile @p take reads that here from @p from. The child's
 * refusal (code and sentence) becomes the caller's. @p take may stop early. It must trust what it reads no more than
 * the file itself. @p take NULL: nothing is read.
 *
 * @p seconds: limit of the child's processor time. MF_GUARD_SECONDS of it are shared by all children of @p path, of
 * which each has one second free. So a damaged file that is opened several times costs this time only once.
 *
 * The child must make no MPI call and start no thread. Not collective. Refuses with the code of @p work or @p take, or
 * with MF_INPUT naming @p path when the child died. A guest that may not decode files refuses likewise.
 */
int mf_guard(const char *path, double seconds, int (*work)(void *context, FILE *to),
             int (*take)(void *context, FILE *from), void *context);

/** Limits of all children from now on, for inputs of strangers. The files that follow are others than before, even if
 * they have the same path. All children of one file share @p seconds of processor time. Each may map @p bytes beyond
 * those of this process. */
void mf_guard_limit(double seconds, size_t bytes);

/** fwrite and fread of all bytes, for @p work and @p take. They refuse with MF_INPUT. */
int mf_guard_send(FILE *to, const void *what, size_t bytes);
int mf_guard_receive(FILE *from, void *what, size_t bytes);

/** Terminates a foreign text in its @p room bytes and removes what could control a terminal; line breaks stay. */
void mf_guard_sanitise(char *text, size_t room);

#endif
