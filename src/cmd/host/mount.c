/* See mount.h. */
#include "src/cmd/host/mount.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

static int add(const char *option, const char *mount, size_t n, struct mf_words *to)
{
    char *source = MF_MUST(strndup(mount, n), "a name"), *whole = realpath(source, NULL);
    int rc = MF_OK;

    if (!whole)
        rc = mf_fail(MF_USAGE, "--%s '%.200s': '%.200s' is not here; a path of the nodes begins with '/'", option,
                     mount, source);
    else if (strpbrk(whole, ",:\n"))
        rc = mf_fail(MF_USAGE, "--%s '%.200s': '%.200s' has ',' or ':' in its name and cannot be mounted", option,
                     mount, whole);
    else
        mf_words_say(to, "%s%s", whole, mount + n);
    free(whole);
    free(source);
    return rc;
}

int mf_mount_whole(const char *option, enum mf_box box, const char *mount, struct mf_words *to)
{
    const size_t n = strcspn(mount, ":");
    const int is_bare = *mount != '.' && !memchr(mount, '/', n);

    if (n > 0 && box != MF_BOX_NONE && *mount != '/' && !(is_bare && (box == MF_BOX_DOCKER || box == MF_BOX_PODMAN)))
        return add(option, mount, n, to);
    mf_words_add(to, mount);
    return MF_OK;
}
