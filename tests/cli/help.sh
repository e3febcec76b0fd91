#!/bin/sh
# Help and man page of every verb name every option and end well; the program's own do too. A verb has one word or two.
# usage: help.sh PROGRAM
set -eu
program=$1

fail() {
    echo "$1"
    exit 1
}

"$program" --version | grep -q '^mesoforge [0-9]' || fail "--version names no version"
"$program" help | grep -q '^verbs:' || fail "help lists no verbs"
# shellcheck disable=SC2086 # the words of a verb are words
"$program" man --list | while read -r verb; do
    "$program" help | grep -q "^  $verb " || fail "help does not list $verb"
    help=$("$program" $verb --help) || fail "$verb --help fails"
    man=$("$program" man $verb) || fail "man $verb fails"
    man=$(printf '%s\n' "$man" | sed 's/\\-/-/g')
    long=$(printf '%s\n' "$help" | awk "length > 79" | head -1)
    [ -z "$long" ] || fail "$verb --help: a line is too long: $long"
    torn=$(printf '%s\n' "$help" | awk 'one != "" && /^[^ ]/ { print one; exit }
        { one = NF == 1 && /^[^ ]/ && length(last) > 60 ? $0 : ""; last = $0 }')
    [ -z "$torn" ] || fail "$verb --help: a paragraph is torn, a line of its text is too long: $torn"
    broken=$(printf '%s\n' "$help" | awk '/^  .*mesoforge [a-z]+ / { example = 1; ended = !/\\$/; next }
        example && /^ / && ended { print; exit } !/^ / { example = 0 } { ended = !/\\$/ }')
    [ -z "$broken" ] || fail "$verb --help: an example cannot be copied, its line is broken: $broken"
    words=$("$program" $verb --print-config | sed -n 's/^#* *\([a-zA-Z0-9_-]*\):.*/\1/p')
    [ -n "$words" ] || fail "$verb --print-config prints no option"
    for word in $words; do
        case "$help " in *--"$word"[!a-zA-Z0-9_]*) ;; *) fail "$verb --help does not name --$word" ;; esac
        case "$man " in *--"$word"[!a-zA-Z0-9_]*) ;; *) fail "man $verb does not name --$word" ;; esac
    done
    [ "$verb" = launch ] && continue # its --config is the verb's
    "$program" $verb --print-config >config.$$ && "$program" $verb --config config.$$ --print-config |
        sed 's/ *# [a-z]*$//' >again.$$
    sed 's/ *# [a-z]*$//' config.$$ | cmp -s - again.$$ || fail "$verb --print-config does not reproduce itself"
    rm -f config.$$ again.$$
done
