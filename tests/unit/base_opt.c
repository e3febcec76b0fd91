/* Options: values, lists, aliases, contradictions, neighbours, configuration files. Every refusal says what and where.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/opt.h"
#include "tests/check.h"

struct o {
    int json, periodic, seam;
    long seed, many;
    double tol;
    const char *name, *mask;
    enum { MSE, RMS, L1 } loss;
    int axis;
    struct mf_longs labels;
    struct mf_reals weights;
    struct mf_texts types;
};

static const struct mf_opt common[] = {MF_OPT(o, "seed", seed, MF_LONG, "0", "seed"),
                                       MF_OPT(o, "json", json, MF_FLAG, NULL, "print JSON"), MF_OPT_END};
static const struct mf_opt rows[] = {MF_OPT(o, "max_iter", many, MF_LONG, "500", "steps"),
                                     MF_OPT(o, "tol", tol, MF_REAL, "1e-6", "tolerance [-]"),
                                     MF_OPT(o, "name", name, MF_TEXT, NULL, "a name"),
                                     MF_OPT(o, "periodic", periodic, MF_FLAG, "1", "periodic"),
                                     MF_OPT(o, "non_periodic", periodic, MF_UNFLAG, NULL, "not periodic"),
                                     MF_OPT(o, "no-seam", seam, MF_UNFLAG, NULL, "leave the seam out"),
                                     MF_CHOICE(o, "loss_type", loss, "MSE", "MSE|RMS|L1", "loss"),
                                     MF_CHOICE(o, "axis", axis, NULL, "z|y|x", "axis"),
                                     MF_OPT(o, "mask", mask, MF_NAME, NULL, "a file"),
                                     MF_OPT(o, "labels", labels, MF_LONGS, NULL, "labels"),
                                     MF_OPT(o, "descriptor_weights", weights, MF_REALS, NULL, "weights"),
                                     MF_OPT(o, "descriptor_types", types, MF_TEXTS, "S2 Variation", "descriptors"),
                                     MF_ALIAS("steps", "max-iter"),
                                     MF_ALIAS("weights", "descriptor_weights"),
                                     MF_ALIAS("open", "non_periodic"),
                                     MF_SAME("plain", "loss_type", "L1", "the same as --loss_type L1"),
                                     MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, common, NULL};
static const struct mf_opt_key keys[] = {{"run.number", "seed", NULL, 0},
                                         {"run.loss", "loss_type", "mse=MSE|rms=RMS|any=", 0},
                                         {"run.steps_at_most", "max_iter", NULL, 1},
                                         {"run.title", "name", NULL, 1},
                                         {"run.kinds", "descriptor_types", NULL, 0},
                                         {"run.square", NULL, "true=", 0},
                                         {"labels.of", NULL, NULL, 0},
                                         {"share.enabled", "tol", "true=0.5|false=", 0},
                                         {"share.tol", "tol", NULL, 0},
                                         {"share.inner.name", "name", NULL, 0},
                                         {NULL, NULL, NULL, 0}};

static struct mf_options *options;
static struct o o;
static char path[64];
static size_t file_positional;

/* Parses words separated by blanks. */
static int parse(const char *line, size_t positional_max)
{
    static char copy[1024];
    char *argv[64], *save = NULL;
    int argc = 0;

    mf_options_free(options);
    options = NULL;
    mf_err_clear();
    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) argv[argc++] = w;
    return mf_options_parse(&options, "test", tables, keys, &o, sizeof o, argc, argv, positional_max);
}

static int parse_file(const char *yaml, const char *flags)
{
    char line[256];
    FILE *file = fopen(path, "w");

    if (!file) return -1;
    fputs(yaml, file);
    if (fclose(file) != 0) return -1;
    snprintf(line, sizeof line, "--config %s %s", path, flags);
    return parse(line, file_positional);
}

#define REFUSED(call, code, part)                                                         \
    do {                                                                                  \
        CHECK((call) == (code));                                                          \
        if (!strstr(mf_err_text(), part)) {                                               \
            ++failures;                                                                   \
            fprintf(stderr, "line %d: '%s' lacks '%s'\n", __LINE__, mf_err_text(), part); \
        }                                                                                 \
    } while (0)

static void test_values(void)
{
    const char *const *words;

    CHECK(parse("", 0) == MF_OK);
    CHECK(o.many == 500 && o.tol == 1e-6 && o.name == NULL && o.periodic == 1 && o.seam == 1 && o.json == 0);
    CHECK(o.types.count == 2 && strcmp(o.types.at[1], "Variation") == 0 && o.labels.count == 0);
    CHECK(parse("--max-iter -3 --tol=-2.5e-3 --name=a=b --open --no_seam --json", 0) == MF_OK);
    CHECK(o.many == -3 && o.tol == -2.5e-3 && strcmp(o.name, "a=b") == 0 && !o.periodic && !o.seam && o.json);
    CHECK(mf_options_origin(options, "steps") == MF_FROM_FLAG && mf_options_origin(options, "seed") == MF_FROM_DEFAULT);
    CHECK(strcmp(mf_options_value(options, "steps"), "-3") == 0 && strcmp(mf_options_value(options, "seed"), "0") == 0);
    CHECK(parse("--labels 0,128 255 --descriptor_types A,B C --weights 1 2.5", 0) == MF_OK);
    CHECK(o.labels.count == 3 && o.labels.at[2] == 255 && o.types.count == 2 && strcmp(o.types.at[0], "A,B") == 0);
    CHECK(o.weights.count == 2 && o.weights.at[1] == 2.5);
    CHECK(parse("a.npy --labels 0 -1 b.npy -- --c", 3) == MF_OK);
    CHECK(o.labels.count == 2 && o.labels.at[1] == -1);
    CHECK(mf_options_positional(options, &words) == 3 && strcmp(words[2], "--c") == 0);
    CHECK(parse("--labels 1 2 3d.npy 4.tif 5/a", 3) == MF_OK && o.labels.count == 2);
    CHECK(mf_options_positional(options, NULL) == 3);
    CHECK(parse("--steps 7 --max_iter 07 --json --json=true", 0) == MF_OK && o.many == 7);
}

static void test_refusals(void)
{
    REFUSED(parse("--lable 3", 0), MF_USAGE, "no option '--lable'; try: --labels");
    REFUSED(parse("--steps 3 --max_iter 4", 0), MF_USAGE, "--steps and --max_iter contradict");
    REFUSED(parse("--seed 3 --seed 4", 0), MF_USAGE, "given twice");
    REFUSED(parse("--periodic --non_periodic", 0), MF_USAGE, "contradict");
    REFUSED(parse("--seed", 0), MF_USAGE, "--seed needs a value");
    REFUSED(parse("--name --json", 0), MF_USAGE, "--name needs a value");
    REFUSED(parse("--seed 1.5", 0), MF_USAGE, "must be an integer, not '1.5'");
    REFUSED(parse("--seed 99999999999999999999", 0), MF_USAGE, "integer");
    REFUSED(parse("--tol nan", 0), MF_USAGE, "must be a number");
    REFUSED(parse("--labels 1,,2", 0), MF_USAGE, "must be numbers");
    REFUSED(parse("--labels 1 x", 0), MF_USAGE, "must be integers, not 'x'");
    CHECK(parse("--weights 1 1.e5 a.npy", 3) == MF_OK && o.weights.count == 2 && o.weights.at[1] == 1e5);
    REFUSED(parse("--labels 1 6x4 a.npy", 3), MF_USAGE, "must be integers, not '6x4'");
    REFUSED(parse("--weights 1 2.5.1", 3), MF_USAGE, "must be numbers, not '2.5.1'");
    REFUSED(parse("--loss_type RMSE", 0), MF_USAGE, "not one of MSE|RMS|L1; try: ");
    CHECK(parse("--axis y --mask m.npy", 0) == MF_OK && o.axis == 2 && strcmp(o.mask, "m.npy") == 0);
    REFUSED(parse("--mask=", 0), MF_USAGE, "--mask is empty; give it a value, or leave it out");
    CHECK(parse("--mask m.npy", 0) == MF_OK && o.axis == 0);
    CHECK(mf_options_has(options, "mask") && !mf_options_has(options, "axis") && !mf_options_has(options, "plane"));
    REFUSED(parse("--json=maybe", 0), MF_USAGE, "true or false");
    REFUSED(parse("a b", 1), MF_USAGE, "unexpected argument 'b'");
    REFUSED(parse("-seed 3", 0), MF_USAGE, "try: --seed");
    REFUSED(parse("--config /nowhere/x.yaml", 0), MF_INPUT, "cannot open '/nowhere/x.yaml'");
    REFUSED(parse("--config /", 0), MF_INPUT, "cannot read '/'");
}

static void test_file(void)
{
    static char deep[40000];
    char part[128];

    CHECK(parse_file("max-iter: 7 # seven\nname: 'x y'\nlabels: [0, 128]\ndescriptor_types: [A]\nno_seam: true\n"
                     "non_periodic: yes\ntol: ~\n",
                     "--labels 5") == MF_OK);
    CHECK(o.many == 7 && strcmp(o.name, "x y") == 0 && o.labels.count == 1 && o.labels.at[0] == 5 && !o.seam);
    CHECK(!o.periodic && o.tol == 1e-6 && mf_options_origin(options, "name") == MF_FROM_FILE);
    CHECK(parse_file("", "") == MF_OK && parse_file("# nothing\n---\n", "") == MF_OK);
    CHECK(parse_file("{seed: 3, labels: '1'}", "") == MF_USAGE);
    snprintf(part, sizeof part, "%s:2:1: no option 'max_iterr'; try: max_iter", path);
    REFUSED(parse_file("seed: 1\nmax_iterr: 3\n", ""), MF_USAGE, part);
    snprintf(part, sizeof part, "%s:1:7: seed must be an integer", path);
    REFUSED(parse_file("seed: x\n", ""), MF_USAGE, part);
    REFUSED(parse_file("seed: '3'\n", ""), MF_USAGE, "in quotes");
    REFUSED(parse_file("json: 'true'\n", ""), MF_USAGE, "true or false");
    REFUSED(parse_file("seed: 1\nseed: 1\n", ""), MF_USAGE, "set the same option");
    REFUSED(parse_file("steps: 1\nmax_iter: 1\n", ""), MF_USAGE, ":2:11: 'max_iter' and 'steps' set the same option");
    REFUSED(parse_file("seed: [1]\n", ""), MF_USAGE, "not a list");
    REFUSED(parse_file("name: {a: b}\n", ""), MF_USAGE, "nothing deeper");
    REFUSED(parse_file("labels: [[1]]\n", ""), MF_USAGE, "nothing deeper");
    CHECK(parse_file("of the run:\n  seed: 7\n  labels: [1]\nname: x\n", "") == MF_OK && o.seed == 7);
    REFUSED(parse_file("run: {seed: x}\n", ""), MF_USAGE, ":1:13: seed must be an integer");
    REFUSED(parse_file("walk: {deeper: {seed: 1}}\n", ""), MF_USAGE, "no option 'deeper'");
    REFUSED(parse_file("run: &a {seed: 1}\n", ""), MF_USAGE, "tags and anchors");
    REFUSED(parse_file("name: &a b\nloss_type: *a\n", ""), MF_USAGE, "anchors");
    REFUSED(parse_file("name: !!python/object x\n", ""), MF_USAGE, "tags");
    REFUSED(parse_file("- seed\n", ""), MF_USAGE, "option: value");
    REFUSED(parse_file("seed: 1\n---\nseed: 2\n", ""), MF_USAGE, "one document");
    REFUSED(parse_file("labels: [1\n", ""), MF_USAGE, "not YAML");
    REFUSED(parse_file("help: true\n", ""), MF_USAGE, "command line");
    memset(deep, '[', sizeof deep - 1);
    CHECK(parse_file(deep, "") == MF_USAGE);
}

static void keep(void *context, const char *word, const char *value, enum mf_origin origin)
{
    char *text = context;

    if (origin != MF_FROM_DEFAULT) strcat(strcat(strcat(strcat(text, word), "="), value), ";");
}

static void test_record(void)
{
    char text[256] = "", *line;

    CHECK(parse("--weights 1,0.1 --name=it's --open --seed=2", 0) == MF_OK);
    mf_options_each(options, keep, text);
    CHECK(strcmp(text, "name=it's;periodic=false;descriptor_weights=1 0.1;seed=2;") == 0);
    line = mf_options_line(options, ' ');
    CHECK(strcmp(line, "--name 'it'\\''s' --periodic=false --descriptor_weights 1 0.1 --seed 2") == 0);
    free(line);
    setenv("T_SEED", "9", 1);
    CHECK(parse("", 0) == MF_OK && mf_options_env(options, "seed", "T_SEED") == MF_OK && o.seed == 9);
    CHECK(mf_options_origin(options, "seed") == MF_FROM_ENV);
    CHECK(parse("--seed 1", 0) == MF_OK && mf_options_env(options, "seed", "T_SEED") == MF_OK && o.seed == 1);
    setenv("T_SEED", "x", 1);
    CHECK(parse("", 0) == MF_OK);
    REFUSED(mf_options_env(options, "seed", "T_SEED"), MF_USAGE, "T_SEED must be an integer");
}

/* The output of --print-config gives the same options again. */
static void test_print(void)
{
    char text[4096], again[256] = "", first[256] = "";
    int out = dup(STDOUT_FILENO);
    FILE *file;
    size_t n;

    CHECK(parse("--name=\"q\\ --labels 1 2 --no-seam --open --tol 0.1 --descriptor_types=S2", 0) == MF_OK);
    mf_options_each(options, keep, first);
    CHECK(freopen(path, "w", stdout) != NULL);
    mf_options_print(options);
    mf_options_help(tables);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    file = fopen(path, "r");
    if (!file) return;
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    CHECK(strstr(text, "--descriptor_weights") && strstr(text, "also --weights") && strstr(text, "MSE, RMS, L1 (MSE)"));
    *strstr(text, "  --max_iter") = '\0';
    CHECK(parse_file(text, "") == MF_OK);
    CHECK(strcmp(o.name, "\"q\\") == 0 && o.labels.count == 2 && o.tol == 0.1 && !o.seam && !o.periodic);
    mf_options_each(options, keep, again);
    CHECK(*first && strcmp(first, again) == 0);
    CHECK(o.types.count == 1 && o.many == 500);
    CHECK(mf_options_origin(options, "tol") == MF_FROM_FILE &&
          mf_options_origin(options, "max-iter") == MF_FROM_DEFAULT);
    close(out);
}

/* Values of another program's file are like given ones. Given values stay, and may not say otherwise. */
static void test_adopt(void)
{
    char *text;

    CHECK(parse("--tol 0.5", 0) == MF_OK && mf_options_adopt(options, "steps", "ds.json: ", "a.b", "7") == MF_OK);
    CHECK(o.many == 7 && mf_options_given(options, "steps"));
    CHECK(mf_options_adopt(options, "tol", "ds.json: ", "a.c", "5e-1") == MF_OK);
    CHECK(mf_options_origin(options, "tol") == MF_FROM_FLAG);
    text = mf_options_yaml(options);
    CHECK(strstr(text, "\nmax_iter: 7  # a.b\n") && strstr(text, "\ntol: 0.5  # flag\n"));
    free(text);
    REFUSED(mf_options_adopt(options, "tol", "ds.json: ", "a.c", "2"), MF_USAGE,
            "ds.json: a.c 2 and --tol 0.5 contradict each other");
    REFUSED(mf_options_adopt(options, "steps", "ds.json: ", "a.d", "8"), MF_USAGE, "a.d 8 and a.b 7 contradict");
    REFUSED(mf_options_adopt(options, "seed", "ds.json: ", "a.e", "x"), MF_USAGE, "ds.json: a.e must be an integer");
}

/* Keys of another program stand in sections, which may be called like an option. */
static void test_keys(void)
{
    char part[128], *text;

    CHECK(
        parse_file("run:\n  number: 4\n  loss: RMS\n  kinds: [A, B]\n  square: yes\n  steps-at-most: 9\n  json: true\n"
                   "labels: {of: [x, y]}\nshare: {enabled: true, inner: {name: q}}\n",
                   "") == MF_OK);
    CHECK(o.seed == 4 && o.loss == RMS && o.types.count == 2 && o.many == 500 && o.json && o.tol == 0.5);
    CHECK(strcmp(o.name, "q") == 0 && strcmp(mf_options_wished(options, "steps"), "9") == 0);
    text = mf_options_idle(options, 0);
    CHECK(text && strcmp(text, "labels.of") == 0);
    free(text);
    text = mf_options_idle(options, 1);
    CHECK(text && strcmp(text, "run.steps_at_most") == 0);
    free(text);
    mf_options_leave(options, "max_iter");
    text = mf_options_yaml(options);
    CHECK(strstr(text, "\nseed: 4  # file, run.number\n") && strstr(text, "\n# max_iter: 500  # planner\n") &&
          strstr(text, "\n# run.steps_at_most: 9  # file, but the plan decides\n"));
    free(text);
    CHECK(mf_options_heed(options) == MF_OK && o.many == 9 && !mf_options_idle(options, 1));
    CHECK(parse_file("run: {steps_at_most: 9}\n", "--steps 3") == MF_OK && mf_options_heed(options) == MF_OK &&
          o.many == 3 && !mf_options_idle(options, 1));
    CHECK(parse_file("{\"share\":{\"enabled\":true,\"tol\":0.25},\"run\":{\"loss\":\"any\",\"number\":null}}", "") ==
          MF_OK);
    CHECK(o.tol == 0.25 && o.loss == MSE && o.seed == 0);
    CHECK(parse_file("run: {title: \"a\\nseed: 9\"}\n", "") == MF_OK && !o.name);
    text = mf_options_yaml(options);
    CHECK(strstr(text, "# run.title: a?seed: 9  # file") != NULL); /* a line of its own would be an option */
    free(text);
    CHECK(parse_file("share: {tol: 0.25, enabled: off, inner: {name: q}}\n", "") == MF_OK && o.tol == 1e-6 && !o.name);
    snprintf(part, sizeof part, "%s:2:3: no option 'run.numbr'; try: run.number", path);
    REFUSED(parse_file("run:\n  numbr: 3\n", ""), MF_USAGE, part);
    REFUSED(parse_file("run: {loss: L1}\n", ""), MF_USAGE,
            ":1:13: run.loss: 'L1' is not supported here, only mse, rms, any");
    REFUSED(parse_file("run: {square: false}\n", ""), MF_USAGE, "run.square: 'false' is not supported here, only true");
    REFUSED(parse_file("run: {number: x}\n", ""), MF_USAGE, ":1:15: run.number must be an integer");
    REFUSED(parse_file("run: {steps_at_most: x}\n", ""), MF_USAGE, "run.steps_at_most must be an integer");
    REFUSED(parse_file("run: {number: [1]}\n", ""), MF_USAGE, "run.number must be one value, not a list");
    REFUSED(parse_file("run: {number: 1}\nseed: 2\n", ""), MF_USAGE, "'seed' and 'run.number' set the same option");
    REFUSED(parse_file("run: {steps_at_most: 1}\nruns: {steps_at_most: 1}\n", ""), MF_USAGE,
            "no option 'runs.steps_at_most'; try: run.steps_at_most");
    REFUSED(parse_file("run: {number: {a: 1}}\n", ""), MF_USAGE, "no option 'run.number'");
    REFUSED(parse_file("share: {inner: {deep: {a: 1}}}\n", ""), MF_USAGE, "no option 'share.inner.deep'");
}

/* A switch that is another option with a value. */
static void test_same(void)
{
    CHECK(parse("--plain", 0) == MF_OK && o.loss == L1);
    CHECK(strcmp(mf_options_said(options, "loss_type"), "plain") == 0 && !mf_options_takes(tables, "--plain"));
    CHECK(parse("--plain=false a", 1) == MF_OK && o.loss == MSE && parse("--plain a", 1) == MF_OK);
    CHECK(parse("--plain --loss_type L1", 0) == MF_OK);
    REFUSED(parse("--plain --loss_type RMS", 0), MF_USAGE, "--plain and --loss_type contradict each other");
    REFUSED(parse("--plain=3", 0), MF_USAGE, "--plain must be true or false");
    CHECK(parse_file("plain: true\n", "") == MF_OK && o.loss == L1);
    CHECK(parse_file("plain: true\n", "--loss_type RMS") == MF_OK && o.loss == RMS);
}

/* Positional arguments are part of the configuration; those of the command line replace them. */
static void test_arguments(void)
{
    const char *const *words = NULL;
    char *text;

    CHECK(parse("a b --seed 4 c", 3) == MF_OK);
    text = mf_options_yaml(options);
    CHECK(strstr(text, "\narguments: [\"a\", \"b\", \"c\"]\n") && strstr(text, "\nseed: 4  # flag\n"));
    CHECK(strstr(text, "\n# max_iter: 500  # default\n") && strstr(text, "\n# name:  # not set\n"));
    free(text);
    REFUSED(parse_file("arguments: [a]\n", ""), MF_USAGE, "no option 'arguments'");
    file_positional = 2;
    CHECK(parse_file("arguments: [a, 'b c']\n", "") == MF_OK && mf_options_positional(options, &words) == 2);
    CHECK(words && strcmp(words[1], "b c") == 0);
    CHECK(parse_file("arguments: a\n", "d") == MF_OK && mf_options_positional(options, &words) == 1);
    CHECK(words && strcmp(words[0], "d") == 0);
    REFUSED(parse_file("arguments: [a, b, c]\n", ""), MF_USAGE, "at most 2");
    REFUSED(parse_file("arguments: a\narguments: b\n", ""), MF_USAGE, "twice");
    file_positional = 0;
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/mf_opt_%ld.yaml", (long)getpid());
    test_values();
    test_refusals();
    test_file();
    test_record();
    test_print();
    test_keys();
    test_same();
    test_arguments();
    test_adopt();
    mf_options_free(options);
    unlink(path);
    return failures != 0;
}
