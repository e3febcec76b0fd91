/* Signals. SIGTERM, SIGUSR1, SIGINT, SIGHUP and SIGXCPU ask a run to save and leave, SIGUSR2 to save and go on.
 * Rule: in a process that has nothing to save a signal ends it at once. A guest (guest.h) takes no signals. */
#ifndef MF_BASE_STOP_H
#define MF_BASE_STOP_H

/** For the start of a run, where nothing is lost but its place in a queue. Signals of schedulers (SIGTERM, SIGUSR1,
 * SIGUSR2, SIGXCPU) are recorded as by mf_stop_on_signals(). SIGINT and SIGHUP end the process at once. A wish to leave
 * without mf_stop_on_signals() within @p seconds means that the start hangs. Then the signal ends the process. */
void mf_stop_ahead(unsigned seconds);

/** For a process that has nothing to save. SIGTERM, SIGINT and SIGHUP, where not ignored, remove temporary files and
 * end it as usual. The thread that writes files calls this. */
void mf_stop_ends(void);

/** Does signal @p number end the process in this way? */
int mf_stop_is_end(int number);

/** Removes temporary files and ends the process by signal @p number, which was recorded elsewhere. */
void mf_stop_end(int number);

/** From now on the signals above are only recorded; SIGHUP only where it is not ignored. SIGPIPE is ignored, here and
 * by mf_stop_ahead(): whoever reads a run's lines may end before the run. A signal other than SIGXCPU and SIGUSR2 that
 * comes again after a second or more ends the process as usual. Temporary files are removed before. */
void mf_stop_on_signals(void);

/** Number of the signal that asked to leave, 0: none. */
int mf_stop_signal(void);

/** Number of SIGUSR2 received. */
long mf_stop_saves(void);

/** Names a file that is being written, which a signal that ends the process removes. @p name lives until
 * mf_stop_unregister_file(). */
void mf_stop_register_file(const char *name);
void mf_stop_unregister_file(const char *name);

#endif
