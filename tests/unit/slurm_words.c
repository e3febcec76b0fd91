/* A shell reads a word that was written for it as the bytes of that word. It has 100 000 of them, through a parser of
 * the shell's rules and through real shells. Each of these is one process and starts no other. A folder is argv[1]. */
#include "slurm/words.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

enum { WORDS = SANITIZED ? 20000 : 100000, LONGEST = 24, A_LINE = 500 };

static unsigned long long state = 20240731;

static unsigned int draw(unsigned int below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned int)(state >> 33) % below;
}

/* Bytes of all kinds, those that shells look for more often than others; some whole attacks. */
static void make(char *word)
{
    static const char *const whole[] = {"",
                                        "$(touch caught)",
                                        "`touch caught`",
                                        "; touch caught;",
                                        "a'b",
                                        "''",
                                        "-n",
                                        "~",
                                        "a=b",
                                        "{a,b}",
                                        "&& :",
                                        "$HOME",
                                        "*",
                                        "\\",
                                        "\n#SBATCH -N9",
                                        "if",
                                        "!",
                                        "\\\n",
                                        "'\\''",
                                        "--",
                                        "\x01",
                                        "\x7f\x80\xff",
                                        "a b",
                                        "\t",
                                        "#x"};
    static const char special[] = "'\"\\$`!*?[]{}()<>|&;#~=% \t\n\r-";
    size_t n = draw(LONGEST);

    if (draw(20) == 0) {
        strcpy(word, whole[draw(sizeof whole / sizeof *whole)]);
        return;
    }
    for (size_t i = 0; i < n; ++i)
        word[i] = (char)(draw(2) ? special[draw(sizeof special - 1)] : (char)(1 + draw(255)));
    word[n] = '\0';
}

/* One word from @p text by the rules of POSIX for what mf_quote() may write; anything else is a failure. */
static const char *parse(const char *text, char *word)
{
    while (*text && *text != ' ' && *text != '\n') {
        if (*text == '\'') {
            for (++text; *text && *text != '\''; ++text) *word++ = *text;
            CHECK(*text == '\'');
            ++text;
        } else if (*text == '\\') {
            *word++ = text[1];
            text += 2;
        } else {
            CHECK(strchr("\"$`!*?[]{}()<>|&;#~\t\r", *text) == NULL);
            *word++ = *text++;
        }
    }
    *word = '\0';
    return text;
}

static void by_parser(const char *word)
{
    char *text = NULL, back[8 * LONGEST];
    size_t size;
    FILE *to = open_memstream(&text, &size);

    mf_quote(to, word);
    fclose(to);
    CHECK(*parse(text, back) == '\0' && strcmp(back, word) == 0);
    free(text);
}

static void write_script(const char *path, char (*word)[LONGEST + 8])
{
    FILE *script = fopen(path, "w");

    for (int i = 0; i < WORDS; i += A_LINE) {
        struct mf_words line = {0};

        mf_words_add(&line, "printf");
        mf_words_add(&line, "%s\\0");
        for (int k = i; k < i + A_LINE; ++k) mf_words_add(&line, word[k]);
        mf_words_print(script, &line, NULL);
        fputc('\n', script);
        mf_words_free(&line);
    }
    fclose(script);
}

static void by_shell(const char *shell, const char *path, char (*word)[LONGEST + 8])
{
    char command[600], back[LONGEST + 8];
    int wrong = 0, c;
    FILE *from;

    snprintf(command, sizeof command, "command -v %s >/dev/null || exit 0; PATH=/nowhere; exec /bin/%s %s", shell,
             shell, path);
    from = popen(command, "r");
    CHECK(from != NULL);
    if (!from) return;
    c = getc(from);
    if (c == EOF) printf("no %s here\n", shell);
    for (int i = 0; i < WORDS && c != EOF; ++i) {
        size_t n = 0;

        for (; c > 0 && n < sizeof back - 1; c = getc(from)) back[n++] = (char)c;
        back[n] = '\0';
        wrong += c != 0 || strcmp(back, word[i]) != 0;
        if (i < WORDS - 1) c = getc(from);
    }
    CHECK(wrong == 0);
    CHECK(pclose(from) == 0);
    CHECK(access("caught", F_OK) != 0);
}

/* "%a" becomes what a variable holds in words that may have it, all else stays as it is. */
static void numbered(void)
{
    static const struct {
        const char *word, *text;
    } cases[] = {{"a%a.h5", "a\"$N\".h5"},
                 {"%a", "\"$N\""},
                 {"%a%a", "\"$N\"\"$N\""},
                 {"$%a'", "'$'\"$N\"''\\'''"},
                 {"", "''"},
                 {"--seed=%a", "--seed=\"$N\""},
                 {"%b", "%b"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct mf_words words = {0};
        char *text = NULL;
        size_t size;
        FILE *to = open_memstream(&text, &size);

        const char *word = cases[i].word;

        mf_words_numbered(&words, 1, &word);
        mf_words_print(to, &words, "N");
        fclose(to);
        CHECK(strcmp(text, cases[i].text) == 0);
        free(text);
        mf_words_free(&words);
    }
}

static void not_numbered(void)
{
    struct mf_words words = {0};
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    mf_words_add(&words, "a%a");
    mf_words_print(to, &words, "N");
    fclose(to);
    CHECK(strcmp(text, "a%a") == 0);
    free(text);
    mf_words_free(&words);
}

int main(int argc, char **argv)
{
    char(*word)[LONGEST + 8] = calloc(WORDS, sizeof *word), path[] = "words.sh";

    NEEDS(1, "FOLDER");
    if (chdir(argv[1]) != 0 || !word) return 2;
    for (int i = 0; i < WORDS; ++i) make(word[i]);
    for (int i = 0; i < WORDS; ++i) by_parser(word[i]);
    write_script(path, word);
    by_shell("dash", path, word);
    by_shell("bash", path, word);
    numbered();
    not_numbered();
    unlink(path);
    free(word);
    return failures != 0;
}
