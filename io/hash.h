/* SHA-256 of files, by which outputs name their inputs. */
#ifndef MF_IO_HASH_H
#define MF_IO_HASH_H

#include <stddef.h>

/** Hexadecimal SHA-256 of a file's bytes into @p hex [65]. Not collective. Refuses with MF_INPUT. */
int mf_hash_file(const char *path, char hex[65]);

/**
 * Computes it in a thread, beside other work. Every start needs a finish; @p hex NULL: cancels it without a message.
 * Not collective; mf_hash_finish() refuses with MF_INPUT.
 */
struct mf_hashing;
struct mf_hashing *mf_hash_start(const char *path);
int mf_hash_finish(struct mf_hashing *hashing, char hex[65]);

/** The same of bytes in memory. Never refuses. */
void mf_hash_bytes(const void *bytes, size_t count, char hex[65]);

/** SHA-256 of several checksums, each followed by a newline; @p hex may be one of them. Never refuses. */
void mf_hash_join(size_t count, const char *const *each, char hex[65]);

#endif
