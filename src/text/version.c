/* See version.h. */
#include "src/text/version.h"

#include "src/text/pattern.h"
#include "src/text/unicode.h"

void mf_text_version(FILE *to)
{
    char pcre2[64];

    mf_pattern_version(pcre2, sizeof pcre2);
    fprintf(to, "  PCRE2     %s\n  utf8proc  %s, Unicode %s\n", pcre2, mf_unicode_library(), mf_unicode_version());
}
