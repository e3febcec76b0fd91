/* Dialects of clients: TGI (text-generation-inference of Hugging Face), TEI (text-embeddings-inference), and OpenAI.
 * vLLM and llama.cpp speak the last one, too. A route is a path of one of them. It reads a request into struct mf_ask,
 * and writes what was said to it. HTTP, queues and the engine know no dialect.
 *
 * Rule: the functions are called by any thread, and keep nothing. */
#ifndef MF_SERVE_DIALECT_H
#define MF_SERVE_DIALECT_H

#include "src/base/json.h"
#include "src/serve/ask.h"

enum { MF_DIALECT_TGI = 1, MF_DIALECT_TEI = 2, MF_DIALECT_OPENAI = 4, MF_DIALECT_OWN = 8 };

enum mf_route_does { MF_ROUTE_ASK, MF_ROUTE_FACTS, MF_ROUTE_HEALTH, MF_ROUTE_METRICS };

/** A request as its answers name it. */
struct mf_ask_name {
    unsigned long long number; /* from 1 on */
    long long created;         /* seconds since 1970 */
};

struct mf_route {
    const char *method, *path; /* "POST", "/generate"; a path that ends with '/' goes on with the name of the model */
    enum mf_route_does does;

    /** The status of a request that is refused, also of one of more tokens than fit. */
    int refuses;

    /** Takes a body that is no JSON: 1, or the status of a refusal. 0: it is read as JSON. NULL: it must be JSON. */
    int (*take)(const char *body, size_t bytes, struct mf_ask *ask);

    /** Reads the members of a request, for mf_route_read(). */
    int (*read)(const struct mf_served *served, const struct mf_json *body, struct mf_ask *ask);

    /** Appends an answer of FACTS. */
    void (*facts)(const struct mf_served *served, struct mf_bytes *to);

    /** Appends the whole answer. @p said: [ask->prompts] */
    void (*whole)(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                  const struct mf_said *said, struct mf_bytes *to);

    /** Append parts of a stream: its begin, a token, and its end. NULL: nothing. The token is number @p token of prompt
     * @p k, and it is told with the text that became sure. Before the last one is told, its prompt has ended. All text
     * is sure then. The array @p said has a row for each prompt. */
    void (*begin)(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                  struct mf_bytes *to);
    void (*token)(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                  const struct mf_said *said, size_t k, size_t token, struct mf_bytes *to);
    void (*end)(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                const struct mf_said *said, struct mf_bytes *to);

    /** Appends an error, as the body of an answer, or as an event of a stream (@p streams). */
    void (*error)(int status, const char *sentence, int streams, struct mf_bytes *to);
};

/** The route of a request among the dialects that are served. NULL: there is none, and one sentence is recorded
 * (mf_err_text()). Then *status is 404. Or it is 405, and *allowed is the method that the path has. In any case *error
 * writes errors of this path. */
const struct mf_route *
mf_route_find(const struct mf_served *served, unsigned dialects, const char *method, const char *path, int *status,
              const char **allowed, void (**error)(int status, const char *sentence, int streams, struct mf_bytes *to));

/** Reads a request from its body. Refuses with an HTTP status (400, 404, 422) and one sentence (mf_err_text()). 0: it
 * is read. Lengths in tokens are checked later, where there is a tokenizer. mf_ask_free() in any case. */
int mf_route_read(const struct mf_route *route, const struct mf_served *served, const char *body, size_t bytes,
                  struct mf_ask *ask);

/** Writes an error where no dialect is known, and in those of TGI and TEI: {"error": "..", "error_type": "validation"}.
 */
void mf_error_plain(int status, const char *sentence, int streams, struct mf_bytes *to);

/** "tgi", "tei", "openai", "vllm" as --api-type has them; 0: there is no such dialect. */
unsigned mf_dialect_of(const char *name);

#endif
