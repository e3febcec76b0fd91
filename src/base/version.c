/* See version.h. */
#include "src/base/version.h"

#include <jansson.h>
#include <yaml.h>

void mf_base_version(FILE *to)
{
    fprintf(to, "  libyaml   %s\n  jansson   %s\n", yaml_get_version_string(), JANSSON_VERSION);
}
