/* The pulse of a call into a library. Its host hears of it at least twice a second, and may ask it to stop.
 * Rule: work without a phase (phase.h) or a step of progress calls mf_pulse() ten times a second. In a program it does
 * nothing. */
#ifndef MF_BASE_PULSE_H
#define MF_BASE_PULSE_H

/** Tells the host of this thread's call about @p what, where it has not heard for a while. Refuses with MF_STOPPED
 * where the host asks for the end. Local. */
int mf_pulse(const char *what);

/** Between these two the calling thread's work may be left unfinished: who does it asks mf_pulse() behind it. */
void mf_pulse_open(void);
void mf_pulse_close(void);

/** Tells. Is a kernel to break off? Its work may be left then, and the host asks for the end. */
int mf_pulse_breaks(const char *what);

/** mf_pulse() for work that is not to end here: only tells. */
void mf_pulse_tell(const char *what);

/** Phases tell the host, too, until mf_pulse_end(). */
void mf_pulse_begin(void);
void mf_pulse_end(void);

/** The same in the child of a fork, which leaves the phases of its parent. */
void mf_pulse_forked(void);

#endif
