/* See watch.h and, for mf_comm_hint(), comm.h. Prints the last line of a job that a lost or stuck rank ends. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "mpi/watch.h"
#include "src/base/err.h"

enum { HINT = 256, TAIL = 512 /* the hint, the name of a record, and what stands before them */ };

static struct {
    pthread_mutex_t lock; /* the watch reads what the main thread writes */
    char text[HINT];      /* "": none */
} hint = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mf_comm_hint(const char *text)
{
    pthread_mutex_lock(&hint.lock);
    snprintf(hint.text, sizeof hint.text, "%s", text ? text : "");
    pthread_mutex_unlock(&hint.lock);
}

/* However long the line is, what stands behind it is whole. */
void mf_watch_end(const char *line, const char *record)
{
    char tail[TAIL], try[HINT] = "mesoforge doctor on these hosts, then the same command again";

    pthread_mutex_lock(&hint.lock);
    if (hint.text[0]) memcpy(try, hint.text, sizeof try);
    pthread_mutex_unlock(&hint.lock);
    snprintf(tail, sizeof tail, "%s%s; try: %s", record ? "; what each rank did last: " : "", record ? record : "",
             try);
    mf_die(MF_DEVICE, __FILE__, __LINE__, "%.*s%s", (int)(MF_ERR_TEXT - 1 - strlen(tail)), line, tail);
}
