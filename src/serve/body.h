/* Reads members of the body of a request. The first refusal counts, and is one sentence that names the member. Values
 * that are read behind it have no meaning. A member that is null is left out. */
#ifndef MF_SERVE_BODY_H
#define MF_SERVE_BODY_H

#include "src/base/json.h"
#include "src/serve/ask.h"

struct mf_body {
    const struct mf_json *json; /* an object */
    int refuses, empty;         /* HTTP statuses: of a refusal, and of one because of an empty text or list */
    int rc;                     /* of the first refusal; 0: there is none */
};

struct mf_range {
    double low, high;
    int above, below;   /* the limits themselves are refused */
    const char *limits; /* "above 0 and below 1": for a sentence */
};
extern const struct mf_range mf_range_counts;  /* 1 to 2^31 - 1 */
extern const struct mf_range mf_range_factors; /* above 0 and at most 1000 */

enum { MF_ASK_STOPS = 4 /* texts of stop of a request */, MF_ASK_STOP_BYTES = 1000 };

void mf_body_refuse(struct mf_body *body, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** A member; NULL: it is left out. */
const struct mf_json *mf_body_get(const struct mf_body *body, const char *key);

/** Is a value this text? */
int mf_body_is(const struct mf_json *value, const char *text);

/** The member's value, or @p usual where it is left out. */
int mf_body_flag(struct mf_body *body, const char *key, int usual);
double mf_body_real(struct mf_body *body, const char *key, double usual, const struct mf_range *range);
long long mf_body_whole(struct mf_body *body, const char *key, long long usual, const struct mf_range *range);

/** The member, which must be an object; NULL: it is left out. */
const struct mf_json *mf_body_object(struct mf_body *body, const char *key);

/** Refuses members that would change the answer, and that no part of this program does. A value that asks for nothing
 * passes: false, 0, an empty text, list or object, or the number @p idle. Ends with key NULL. */
struct mf_unserved {
    const char *key;
    double idle; /* 0: there is none */
};
void mf_body_unserved(struct mf_body *body, const struct mf_unserved *members);

/** Reads one text, which is a prompt. */
void mf_body_text(struct mf_body *body, const char *key, struct mf_ask *ask);

/** Reads a text, numbers of tokens, or a list of at most @p most texts or lists of tokens. */
void mf_body_prompts(struct mf_body *body, const char *key, size_t most, struct mf_ask *ask);

/** Refuses "dimensions" other than the width of the model's vectors. */
void mf_body_width(struct mf_body *body, const struct mf_served *served);

/** Reads a text, or a list of texts, at which an answer ends. */
void mf_body_stops(struct mf_body *body, const char *key, struct mf_ask *ask);

/** Reads the seed. Where there is none, and tokens are drawn, a random one is taken. */
void mf_body_seed(struct mf_body *body, struct mf_ask *ask);

#endif
