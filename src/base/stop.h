/* Signals. SIGTERM, SIGUSR1, SIGINT, SIGHUP and SIGXCPU ask a run to save and leave, SIGUSR2 to save and go on.
 * Rule: in a process that has nothing to save a signal ends it at once. */
#ifndef MF_BASE_STOP_H
#define MF_BASE_STOP_H

/** Of a run that is still in its start, where nothing is lost yet but its place in a queue: SIGTERM, SIGUSR1, SIGUSR2
 * and SIGXCPU, which schedulers send, are noted as by mf_stop_on_signals(); who waits at a terminal ends it at once.
 * Where that is not called within @p seconds of a wish to leave, the start hangs, and the signal ends the process. */
void mf_stop_ahead(unsigned seconds);

/** Of a process that has nothing to save: SIGTERM, SIGINT and SIGHUP, where they are not ignored, end it as they always
 * do; temporary files go before. Called by the thread that writes files. */
void mf_stop_ends(void);

/** Does @p number end the process so? */
int mf_stop_is_end(int number);

/** Ends the process by the signal @p number, which was noted elsewhere; temporary files go before. */
void mf_stop_end(int number);

/** From now on they are noted and no more (SIGPIPE is ignored, here and by mf_stop_ahead(): who reads a run's lines may
 * go before it ends); SIGHUP only where it is not ignored. One of them but SIGXCPU and SIGUSR2 that comes again, a
 * second or more after its first, ends the process as it always does; temporary files go before. */
void mf_stop_on_signals(void);

/** Number of the signal that asked to leave, 0: none. */
int mf_stop_signal(void);

/** How often SIGUSR2 has come. */
long mf_stop_saves(void);

/** A file that is being written goes if a signal ends the process; @p name lives until mf_stop_keeps(). */
void mf_stop_takes(const char *name);
void mf_stop_keeps(const char *name);

#endif
