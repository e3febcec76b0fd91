/* Whose process this is. The program owns its process: it prints, takes signals, starts children and exits. A library
 * is a guest in the process of another program, and does none of these. */
#ifndef MF_BASE_GUEST_H
#define MF_BASE_GUEST_H

#include <stdatomic.h>

/** From now on this code is a guest. Any thread may call it, again too. */
void mf_guest_begin(void);
int mf_is_guest(void);

/** Names the function that gets the line of a breakage, before mf_die() aborts the process of a guest. Any thread may
 * break. NULL: none. */
void mf_guest_broken(void (*take)(void *context, const char *line), void *context);

/** Hands it @p line. For mf_die() alone. */
void mf_guest_last(const char *line);

/** May this thread's call decode files in the process of the host, who trusts them? Local. */
void mf_guest_trust(int files);
int mf_guest_trusts(void);

/** Sets the flag by which the host asks this thread's call to stop; NULL: none. */
void mf_guest_heed(const atomic_int *stop);

/** Is this thread's call asked to stop? Local. */
int mf_guest_stops(void);

#endif
