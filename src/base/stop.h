/* Signals that ask a run to save itself and leave: SIGTERM, SIGUSR1, SIGINT. */
#ifndef MF_BASE_STOP_H
#define MF_BASE_STOP_H

/** From now on the first of them is noted and no more; the same one again ends the process as it always does. */
void mf_stop_on_signals(void);

/** Number of the signal that came, 0: none. */
int mf_stop_signal(void);

#endif
