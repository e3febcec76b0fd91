/* See include/mesoforge.h: verbs by their names. */
#include <string.h>

#include "src/base/err.h"
#include "src/lib/lib.h"

/* A library chooses no names. Local. */
static int check_names(const mesoforge_session *session, const struct mf_cmd *verb, const struct mf_common *common)
{
    const struct mf_options *options = session->work.options;
    const int fills = verb->writes && mf_options_knows(options, "results-dir");

    if (fills && !mf_options_given(options, "results-dir"))
        return mf_fail(MF_USAGE, "%s fills a folder, and a library chooses none; try: results-dir=FOLDER", verb->name);
    if (!verb->writes || fills || common->output) return MF_OK;
    return mf_fail(MF_USAGE, "%s writes a file, and a library chooses no name; try: output=FILE", verb->name);
}

int mf_lib_print(mesoforge_session *session, const struct mf_cmd *verb, void *options, mesoforge_result *r)
{
    MF_TRY(check_names(session, verb, options));
    MF_TRY(mf_agree(&session->comm, verb->alone ? verb->alone(session->work.options, options)
                                                : verb->run(&session->work.session, options)));
    mf_lib_result_printed(session, r);
    return MF_OK;
}

/* Verbs whose results have arrays. */
static const struct mf_lib_verb *const makers[] = {&mf_lib_characterize, &mf_lib_match, &mf_lib_reconstruct,
                                                   &mf_lib_synth,        &mf_lib_read,  &mf_lib_smooth,
                                                   &mf_lib_properties,   NULL};

/* Verbs that the program has not. */
static const struct mf_cmd *const own[] = {&mf_lib_help, &mf_lib_reading, NULL};

int mf_lib_not_here(const struct mf_cmd *cmd)
{
    return mf_fail(MF_USAGE, "%s is a verb of the program alone; try: mesoforge %s in a shell", cmd->name, cmd->name);
}

const struct mf_cmd *mf_lib_find(size_t n, const char *const *words, size_t *used)
{
    *used = 1;
    for (const struct mf_cmd *const *cmd = own; n && *cmd; ++cmd)
        if (strcmp(words[0], (*cmd)->name) == 0) return *cmd;
    return mf_cmd_find(n, words, used);
}

/* Local. */
static int find(const char *name, struct mf_lib_verb *verb)
{
    size_t used;
    const struct mf_cmd *cmd = name ? mf_lib_find(1, &name, &used) : NULL;

    if (!cmd) return mf_cmd_none(name != NULL, &name);
    if (!cmd->in_library) return mf_lib_not_here(cmd);
    *verb = (struct mf_lib_verb){cmd, mf_lib_print};
    for (const struct mf_lib_verb *const *v = makers; *v; ++v)
        if ((*v)->verb == cmd) *verb = **v;
    return MF_OK;
}

int mesoforge_run(mesoforge_session *session, const char *verb, const char *inputs, const char *options,
                  mesoforge_result **result)
{
    struct mf_lib_verb found;
    const int rc = find(verb, &found);

    if (rc != MF_OK) return mf_lib_told(rc);
    return mf_lib_call(session, &found, NULL, inputs ? inputs : "", options, result);
}
