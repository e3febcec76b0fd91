/* The section of a report on effective properties: a file of `properties --output`. */
#ifndef MF_CMD_HOST_REPORT_PROPERTIES_H
#define MF_CMD_HOST_REPORT_PROPERTIES_H

#include "src/base/json.h"
#include "src/show/page.h"

/** Is it what properties said of one file or of several? */
int mf_is_properties(const struct mf_json *said);

/**
 * Conductivities or moduli with their errors between their bounds, as a picture and as a table. Several files also have
 * a mean with its 95 % interval. The picture, number @p number, stays in the folder @p folder. Only rank 0; MF_OUTPUT.
 */
int mf_report_properties(const struct mf_page *page, const char *folder, size_t number, const char *name,
                         const struct mf_json *said);

#endif
