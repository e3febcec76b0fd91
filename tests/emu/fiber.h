/* The threads of a block as coroutines of one thread of the system. */
#ifndef MF_EMU_FIBER_H
#define MF_EMU_FIBER_H

#include <cstddef>

struct mf_fiber;

/** A coroutine that has not begun; its stack is kept when it has ended. */
mf_fiber *mf_fiber_new();
/** Runs @p work(argument) in it until it pauses (returns true) or ends (false). */
bool mf_fiber_run(mf_fiber *fiber, void (*work)(void *), void *argument);
/** Goes on with one that has paused; as mf_fiber_run(). */
bool mf_fiber_resume(mf_fiber *fiber);
/** Inside a coroutine: back to whoever ran it. */
void mf_fiber_pause();

#endif
