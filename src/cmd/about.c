/* See about.h. */
#include "src/cmd/about.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/version.h"
#include "kernels/version.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/base/version.h"
#include "src/cmd/cmd.h"
#include "src/text/version.h"

static const char *const codes[] = {"0",  "done",
                                    "2",  "a bad option, configuration key or value",
                                    "3",  "input data or a file's format",
                                    "4",  "hardware or communicator: no such device, lost or stuck rank",
                                    "5",  "out of memory, or --memory-limit too small",
                                    "6",  "numerical: not a number, divergence",
                                    "7",  "output or disk: no space, cannot write",
                                    "70", "a bug: please report it",
                                    "75", "stopped early with a valid checkpoint: please run again",
                                    NULL};

const char *mf_about_build(void)
{
    static char text[256];
    char id[48];

    mf_build_id(id, sizeof id);
    snprintf(text, sizeof text, "mesoforge " MF_VERSION " (" MF_BUILD_TYPE ", " __VERSION__ ")%s%.12s",
             *id ? ", id " : "", id);
    return text;
}

static void version(void)
{
    char id[48];

    mf_build_id(id, sizeof id);
    printf("mesoforge %s\n", MF_VERSION);
    printf("  build     %s, %s%s%s\n", MF_BUILD_TYPE, "compiler " __VERSION__, *id ? ", id " : "", id);
    mf_kernels_version(stdout);
    printf("  MPI       %s\n", mf_comm_version());
    mf_io_version(stdout);
    mf_base_version(stdout);
    mf_text_version(stdout);
}

static void exit_codes(void)
{
    printf("\nexit status:\n");
    for (size_t i = 0; codes[i]; i += 2) printf("  %-3s %s\n", codes[i], codes[i + 1]);
}

/* A line for every verb, or every one of a family (NULL: all). */
static void list(const char *family)
{
    int width = 14;

    for (size_t i = 0; mf_cmds[i]; ++i)
        if ((int)strlen(mf_cmds[i]->name) > width) width = (int)strlen(mf_cmds[i]->name);
    printf("\nverbs:\n");
    for (size_t i = 0; mf_cmds[i]; ++i)
        if (!family || mf_cmd_is_of(mf_cmds[i], family))
            printf("  %-*s %s\n", width, mf_cmds[i]->name, mf_cmds[i]->summary);
}

static void program(void)
{
    printf("mesoforge turns micrographs into statistically equivalent 2-D and 3-D material models.\n\n"
           "usage: mesoforge VERB [OPTION ...]      on one core or node\n"
           "       mpirun -n 4 mesoforge VERB ...   on several ranks\n"
           "       srun mesoforge VERB ...\n");
    list(NULL);
    printf("\n  help [VERB]    this help, or that of a verb (also VERB --help)\n"
           "  man VERB       its manual page, in roff\n"
           "  --version      versions of the program and its libraries\n");
    exit_codes();
}

static void family(const char *word)
{
    printf("usage: mesoforge %s VERB [OPTION ...]\n", word);
    list(word);
}

enum { COLUMNS = 79, MAN_COLUMNS = 72 /* which man indents */ };

/* One line "HEAD NAME" BETWEEN "TEXT", folded. */
static void say(const char *head, const char *name, const char *between, const char *text)
{
    char *line = mf_format("%s %s%s%s", head, name, between, text), *folded = mf_fold(line, 7, COLUMNS);

    printf("%s\n", folded);
    free(folded);
    free(line);
}

/* The verb's paragraphs through @p print, ended by a newline. */
static void paragraphs(const char *text, size_t columns, void (*print)(const char *))
{
    char *folded = mf_fold(text, 0, columns);
    size_t n = strlen(folded);

    print(folded);
    if (n == 0 || folded[n - 1] != '\n') print("\n");
    free(folded);
}

static void print_plain(const char *text) { printf("%s", text); }

static void verb_help(const struct mf_cmd *verb)
{
    say("mesoforge", verb->name, ": ", verb->summary);
    printf("\n");
    say("usage: mesoforge", verb->name, " ", verb->synopsis ? verb->synopsis : "[OPTION ...]");
    if (verb->text) {
        printf("\n");
        paragraphs(verb->text, COLUMNS, print_plain);
    }
    printf("\noptions ('-' and '_' are the same in their names):\n\n");
    mf_options_help(verb->tables);
}

/* ---- manual pages ---- */

enum { PAGE = 64 };

/* The name of a verb's page ("": the program's): "mesoforge-data-import". */
static const char *page(const char *verb, char name[PAGE])
{
    snprintf(name, PAGE, "mesoforge%s%s", *verb ? "-" : "", verb);
    for (char *at = name; *at; ++at)
        if (*at == ' ') *at = '-';
    return name;
}

static void man_head(const char *verb, const char *summary)
{
    char name[PAGE];

    printf(".TH ");
    for (const char *at = page(verb, name); *at; ++at) putchar(toupper((unsigned char)*at));
    printf(" 1 \"\" \"mesoforge %s\" \"User Commands\"\n.SH NAME\n", MF_VERSION);
    mf_roff(name);
    printf(" \\- ");
    mf_roff(summary);
    printf("\n.SH SYNOPSIS\n");
}

static void man_codes(void)
{
    printf(".SH EXIT STATUS\n");
    for (size_t i = 0; codes[i]; i += 2) {
        printf(".TP\n.B %s\n", codes[i]);
        mf_roff(codes[i + 1]);
        printf("\n");
    }
}

static void program_man(void)
{
    char name[PAGE];

    man_head("", "statistically equivalent material models from micrographs");
    printf(".B mesoforge\n.I VERB\n[\\fIOPTION\\fR ...]\n.br\n.B mpirun \\-n \\fIN\\fB mesoforge\n.I VERB\n\\&...\n"
           ".SH VERBS\n");
    for (size_t i = 0; mf_cmds[i]; ++i) {
        printf(".TP\n\\fB");
        mf_roff(page(mf_cmds[i]->name, name));
        printf("\\fR(1)\n");
        mf_roff(mf_cmds[i]->summary);
        printf("\n");
    }
    man_codes();
}

static void verb_man(const struct mf_cmd *verb)
{
    man_head(verb->name, verb->summary);
    printf(".B mesoforge %s\n", verb->name);
    mf_roff(verb->synopsis ? verb->synopsis : "[OPTION ...]");
    printf("\n");
    if (verb->text) {
        printf(".SH DESCRIPTION\n.nf\n");
        paragraphs(verb->text, MAN_COLUMNS, mf_roff);
        printf(".fi\n");
    }
    printf(".SH OPTIONS\nIn option names '\\-' and '_' are the same.\n");
    mf_options_man(verb->tables);
    man_codes();
    printf(".SH SEE ALSO\n.BR mesoforge (1)\n");
}

/* ---- questions ---- */

/* help [VERB | FAMILY] */
static int help(size_t n, const char *const *words)
{
    size_t used;
    const struct mf_cmd *verb = mf_cmd_find(n, words, &used);

    if (n == 0)
        program();
    else if (verb)
        verb_help(verb);
    else if (mf_cmd_is_family(words[0]) && (n == 1 || *words[1] == '-'))
        family(words[0]);
    else
        return mf_cmd_none(n, words);
    return MF_OK;
}

/* man [VERB | --list] */
static int man(size_t n, const char *const *words)
{
    size_t used;
    const struct mf_cmd *verb = mf_cmd_find(n, words, &used);

    if (n == 0)
        program_man();
    else if (verb)
        verb_man(verb);
    else if (strcmp(words[0], "--list") == 0)
        for (size_t i = 0; mf_cmds[i]; ++i) printf("%s\n", mf_cmds[i]->name);
    else
        return mf_cmd_none(n, words);
    return MF_OK;
}

static int is_one_of(const char *word, const char *const *words)
{
    for (; *words; ++words)
        if (strcmp(word, *words) == 0) return 1;
    return 0;
}

static const char *const versions[] = {"--version", "version", NULL};
static const char *const helps[] = {"--help", "-h", "help", NULL};
static const char *const mans[] = {"man", NULL};

int mf_about_asked(size_t n, const char *const *words)
{
    size_t used;

    if (n == 0) return 0;
    if (is_one_of(words[0], versions) || is_one_of(words[0], helps) || is_one_of(words[0], mans)) return 1;
    if (!mf_cmd_find(n, words, &used)) used = mf_cmd_is_family(words[0]) != 0;
    return used > 0 && mf_options_help_asked(n - used, words + used);
}

int mf_about(size_t n, const char *const *words)
{
    if (is_one_of(words[0], mans)) return man(n - 1, words + 1);
    if (is_one_of(words[0], helps)) return help(n - 1, words + 1);
    if (!is_one_of(words[0], versions)) return help(n, words);
    version();
    return MF_OK;
}
