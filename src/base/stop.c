/* See stop.h. */
#include "src/base/stop.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t seen;

static void note(int number) { seen = number; }

void mf_stop_on_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGUSR1, SIGINT};
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = note;
    action.sa_flags = (int)(SA_RESTART | SA_RESETHAND);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) sigaction(numbers[i], &action, NULL);
}

int mf_stop_signal(void) { return seen; }
