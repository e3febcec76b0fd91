/* See about.h. */
#include "src/cmd/about.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/version.h"
#include "kernels/version.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/base/version.h"

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

void mf_about_version(void)
{
    char id[48];

    mf_build_id(id, sizeof id);
    printf("mesoforge %s\n", MF_VERSION);
    printf("  build     %s, %s%s%s\n", MF_BUILD_TYPE, "compiler " __VERSION__, *id ? ", id " : "", id);
    mf_kernels_version(stdout);
    printf("  MPI       %s\n", mf_comm_version());
    mf_io_version(stdout);
    mf_base_version(stdout);
}

void mf_about_program(const struct mf_cmd *const *verbs)
{
    printf("mesoforge turns micrographs into statistically equivalent 2-D and 3-D material models.\n\n"
           "usage: mesoforge VERB [OPTION ...]      on one core or node\n"
           "       mpirun -n 4 mesoforge VERB ...   on several ranks\n"
           "       srun mesoforge VERB ...\n\nverbs:\n");
    for (; *verbs; ++verbs) printf("  %-14s %s\n", (*verbs)->name, (*verbs)->summary);
    printf("\n  help [VERB]    this help, or that of a verb (also VERB --help)\n"
           "  man VERB       its manual page, in roff\n"
           "  --version      versions of the program and its libraries\n\nexit status:\n");
    for (size_t i = 0; codes[i]; i += 2) printf("  %-3s %s\n", codes[i], codes[i + 1]);
}

enum { COLUMNS = 79, MAN_COLUMNS = 72 /* which man indents */ };

/* A copy of @p text whose lines have at most so many columns: longer ones are broken at blanks, the rest indented by
 * @p indent or as the line was. Caller frees. */
static char *fold(const char *text, size_t indent, size_t columns)
{
    char *folded = NULL;
    size_t size = 0, column = 0, margin = indent + strspn(text, " ");
    FILE *to = open_memstream(&folded, &size);

    if (!to) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for help");
    while (*text) {
        size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " \n");
        int full = word > 0 && column > margin && column + blanks + word > columns;

        if (full) column = (size_t)fprintf(to, "\n%*s", (int)margin, "") - 1;
        if (word > 0 && !full) column += (size_t)fprintf(to, "%*s", (int)blanks, "");
        column += fwrite(text + blanks, 1, word, to);
        text += blanks + word;
        if (*text != '\n') continue;
        fputc(*text++, to);
        column = 0;
        margin = indent + strspn(text, " ");
    }
    if (fclose(to) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for help");
    return folded;
}

/* One line "HEAD NAME" BETWEEN "TEXT", folded. */
static void say(const char *head, const char *name, const char *between, const char *text)
{
    char *line = NULL, *folded;

    if (asprintf(&line, "%s %s%s%s", head, name, between, text) < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for help");
    folded = fold(line, 7, COLUMNS);
    printf("%s\n", folded);
    free(folded);
    free(line);
}

/* The verb's paragraphs through @p print, ended by a newline. */
static void paragraphs(const char *text, size_t columns, void (*print)(const char *))
{
    char *folded = fold(text, 0, columns);
    size_t n = strlen(folded);

    print(folded);
    if (n == 0 || folded[n - 1] != '\n') print("\n");
    free(folded);
}

static void print_plain(const char *text) { printf("%s", text); }

void mf_about_verb(const struct mf_cmd *verb)
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

static void man_head(const char *title, const char *name, const char *summary)
{
    printf(".TH %s 1 \"\" \"mesoforge %s\" \"User Commands\"\n.SH NAME\n", title, MF_VERSION);
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

void mf_about_program_man(const struct mf_cmd *const *verbs)
{
    man_head("MESOFORGE", "mesoforge", "statistically equivalent material models from micrographs");
    printf(".B mesoforge\n.I VERB\n[\\fIOPTION\\fR ...]\n.br\n.B mpirun \\-n \\fIN\\fB mesoforge\n.I VERB\n\\&...\n"
           ".SH VERBS\n");
    for (const struct mf_cmd *const *v = verbs; *v; ++v) {
        printf(".TP\n\\fBmesoforge\\-%s\\fR(1)\n", (*v)->name);
        mf_roff((*v)->summary);
        printf("\n");
    }
    man_codes();
}

void mf_about_verb_man(const struct mf_cmd *verb)
{
    char title[64], name[64];
    size_t n = (size_t)snprintf(title, sizeof title, "MESOFORGE-%s", verb->name);

    for (size_t i = 0; i < n && i < sizeof title; ++i)
        if (title[i] >= 'a' && title[i] <= 'z') title[i] = (char)(title[i] - 'a' + 'A');
    snprintf(name, sizeof name, "mesoforge-%s", verb->name);
    man_head(title, name, verb->summary);
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
