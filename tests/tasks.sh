#!/bin/sh
# No source asks which learning task it is. The name of a kind stands only in files that are named after it, in tables and
# their declarations, and in the words of verbs. usage: tasks.sh ROOT [--self-test]
set -eu

# Kinds are the files src/train/learn_KIND.c and learn_KIND_PART.c. The word vqa also names a network and a folder.
kinds() {
    find "$1/src/train" -name 'learn_*.c' | sed 's|.*/learn_||; s|[_.].*||; s/^vqa$/learn_vqa|train_vqa/' | sort -u | paste -s -d '|' -
}

# In a table or a declaration there are names and what separates them, and nothing else.
rule='
function has(s) { return s ~ ("(^|[^a-z])(" kinds ")([^a-z]|$)") }
FNR == 1 { file = FILENAME; sub("^" root "/", "", file); own = file ~ ("_(" kinds "|vqa)(_[a-z]+)?\\.[ch]$") }
own || !has($0) || /^#include "/ { next }
{
    rest = $0
    gsub("(" kinds ")[,|] ?(" kinds ")(, unet)?(, vqa)?( or | and |[|])moe", "", rest) # all that follow "train"
    gsub("(train|infer) (" kinds ")", "", rest)                       # a verb
    if (rest ~ /^[A-Za-z0-9_ &*{}\[\],;=]*$/ && (rest !~ /=/ || rest ~ /= *\{/)) gsub("mf_[a-z_]*_?(" kinds ")", "", rest)
    if (!has(rest)) next
    printf "%s:%d: asks for a kind of task: %s\n", file, FNR, $0
    ++bad
}
END { exit bad > 0 }
'

check() {
    find "$1/src" "$1/kernels" "$1/mpi" "$1/io" \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -print 2>/dev/null |
        sort | xargs awk -v root="$1" -v kinds="$(kinds "$1")" "$rule"
}

# Every way to ask is found, and a lawful tree passes.
self_test() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    mkdir -p "$tree/src/train" "$tree/src/cmd/learn"
    printf 'if (classify) regress();\n' >"$tree/src/train/learn_classify.c"
    cp "$tree/src/train/learn_classify.c" "$tree/src/train/learn_regress.c"
    cp "$tree/src/train/learn_classify.c" "$tree/src/cmd/learn/task_classify.c"
    printf '%s\n' '#include "src/train/learn_classify.h"' 'extern const struct a mf_classify, mf_regress;' \
        'static const struct a *const all[] = {&mf_classify, mf_other,' '    &mf_regress,' \
        'fail("try: train classify, or plan train classify, regress or moe");' 'regression = 1;' >"$tree/src/cmd/a.c"
    check "$tree" || { echo "tasks: a lawful tree was refused"; exit 1; }
    for line in 'int classify;' 'if (learn == &mf_learn_classify) x = 1;' 'kind = &mf_learn_regress;' \
        'strcmp(word, "classify")' 'x = o.learn_classify ? 1 : 0;' '/* classify or not */' 'run(s, &mf_train_regress);'; do
        printf '%s\n' "$line" >"$tree/src/train/bad.c"
        if check "$tree" >/dev/null; then echo "tasks: not found: $line"; exit 1; fi
    done
}

[ "${2:-}" != --self-test ] || self_test
check "$1"
