/* properties --fields: potential and flux of a microstructure in a VTKHDF file. */
#ifndef MF_CMD_RECON_PROPERTIES_FIELDS_H
#define MF_CMD_RECON_PROPERTIES_FIELDS_H

#include "io/fields.h"
#include "src/cmd/recon/properties.h"

struct mf_properties_fields {
    const struct mf_micro *micro;
    double most;                             /* the largest conductivity */
    const struct mf_properties_taker *taker; /* gets the fields; NULL: the file does */
    char name[6][16];
    const char *names[6];
    int values[6], place[3]; /* place: of the potential along an axis; its flux is the next one */
    struct mf_fields_wish wish;
    struct mf_fields *file;
};

/** Makes the file for conduction along the @p wanted axes. Micro and *fields stay until the end. Collective; refuses
 * (agreed) as mf_fields_open(). */
int mf_properties_fields_open(struct mf_session *session, const char *path, const struct mf_micro *micro,
                              const int wanted[3], double most, struct mf_properties_fields *fields);

/** For mf_conduct_opts: writes the solution along an axis, or gives it away. */
int mf_properties_fields_take(void *fields, const struct mf_conduct_fields *solution);

#endif
