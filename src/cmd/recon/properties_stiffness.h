/* properties --young, --stiffness: the stiffness of a file, beside the conduction of properties.h. */
#ifndef MF_CMD_RECON_PROPERTIES_STIFFNESS_H
#define MF_CMD_RECON_PROPERTIES_STIFFNESS_H

#include "src/cmd/recon/properties.h"

/** Is it stiffness that the options ask for, and of how many labels? Local. */
int mf_stiffness_asked(const struct properties *o);
size_t mf_stiffness_phases(const struct properties *o);

/** Refuses (MF_USAGE) moduli that none can have, and options of conduction; says what has no effect. Local. */
int mf_stiffness_check(const struct mf_session *session, const struct properties *o);

/** Sets c->stiffness of the phases of @p micro, whose fractions @p c has. Refuses (MF_INPUT) labels without moduli.
 * Local. */
int mf_stiffness_problem(const struct properties *o, const struct mf_micro *micro, struct mf_conducted *c);

/** Solves it; with c->has_errors by both schemes. Collective; refuses (agreed) as mf_elastic(). */
int mf_stiffness_solve(struct mf_session *session, const struct mf_micro *micro, struct mf_conducted *c);

/** One file, and several, as mf_conducted_text() and its neighbours. */
void mf_stiffness_text(FILE *to, const struct mf_conducted *c);
struct mf_json *mf_stiffness_json(const struct mf_conducted *c);
void mf_stiffness_means_text(FILE *to, size_t files, const struct mf_conducted *of);
struct mf_json *mf_stiffness_means_json(size_t files, const struct mf_conducted *of, struct mf_json *each);

#endif
