/* A request at work: its answers, told to its ticket while tokens come, or vectors. For rank 0. All functions are
 * local. */
#ifndef MF_SERVE_JOB_H
#define MF_SERVE_JOB_H

#include "src/gen/reply.h"
#include "src/serve/desk.h"

struct mf_job_wish {
    const struct mf_served *served;
    const struct mf_tokenizer *tokenizer; /* NULL: answers are tokens without text */
    const struct mf_tokens *ends;         /* tokens by which the model ends a text */
};

struct mf_job {
    const struct mf_job_wish *wish;
    struct mf_ticket *ticket;
    struct mf_job *next;
    struct mf_said *said;   /* [prompts] */
    struct mf_reply *reply; /* [prompts] */
    float *vector;          /* [prompts][width]; NULL: none has come */
    size_t added;           /* prompts that the engine has got */
    size_t working;         /* prompts that it has now */
    size_t ended;           /* prompts whose answers have ended */
    int is_over;            /* the ticket was left: answered, failed, or given up */
    int has_said;           /* the client was told something */
    double last;            /* [s] when the last token came; 0: none did */
    double turn;            /* [s] when it last got a place among those at work */
};

struct mf_job *mf_job_open(const struct mf_job_wish *wish, struct mf_ticket *ticket);
void mf_job_close(struct mf_job *job);

/** New tokens that prompt @p k may get. */
size_t mf_job_most(const struct mf_job *job, size_t k);

/** A token for prompt @p k. When the last prompt has ended, the job is over. */
void mf_job_hear(struct mf_job *job, size_t k, uint32_t token, double log_probability);

/** The vector [width] of prompt @p k. When the last one has come, the job is over. */
void mf_job_vector(struct mf_job *job, size_t k, const double *vector, size_t width);

/** The answer about image @p k, an object, and an array of warnings; both are taken. When the last one has come, the
 * job is over. */
void mf_job_answer(struct mf_job *job, size_t k, struct mf_json *answer_take, struct mf_json *notes_take);

/** The job is over without its answer: an error of this HTTP status, in a stream as an event. */
void mf_job_fail(struct mf_job *job, int status, const char *sentence);

/** The job is over where its client has gone, or does not read: 0. It fails with status 499. */
int mf_job_listens(struct mf_job *job);

#endif
