#!/usr/bin/env bash
# Comments and documents are plain English: sentences of at most 20 words, which begin with a subject. The counts below may
# only fall; whoever lowers one writes the new number here. usage: prose.sh ROOT [--list | --self-test]
set -uo pipefail
declare -A most=([long]=505 [fragment]=155)

# Comments of C and CUDA, and text of Markdown without code, as lines "FILE:LINE<tab>SENTENCE".
# shellcheck disable=SC2016
sentences='
use strict;
sub give { # a block of text: its sentences
    my ($file, $line, $text) = @_;
    $text =~ s/\b(e\.g|i\.e|cf|vs|No|Fig|Eq|St|al|approx)\./$1/g;
    $text =~ s/\s+/ /g;
    for my $one (split /(?<=[.?!])["\x27)*`]*\s+(?=["\x27(*@]*[A-Z0-9]|`)|(?<=[:;])\s+-\s+/, $text) {
        $one =~ s/^\s+|\s+$//g;
        print "$file:$line\t$one\n" if $one =~ /[a-z]/;
    }
}
for my $file (@ARGV) {
    open my $in, "<", $file or next;
    my ($text, $line, $code, $n) = ("", 0, 0, 0);
    my $end = sub { give($file, $line, $text) if $text =~ /\S/; $text = ""; };
    if ($file =~ /\.md$/) {
        while (my $row = <$in>) {
            ++$n;
            $code = !$code, $end->(), next if $row =~ /^```/;
            next if $code;
            if ($row =~ /^\s*$|^    |^#|^\s*[-*] |^\s*\d+\. |^\|/) { $end->() }
            next if $row =~ /^    |^#|^\|[-| :]+$/;
            $row =~ s/^\s*(?:[-*]|\d+\.) //;
            if ($row =~ /^\|/) { give($file, $n, $_) for split /\|/, $row; next }
            $line = $n if $text eq "";
            $text .= " $row";
        }
        $end->();
    } else {
        my $all = do { local $/; <$in> };
        # strings and characters first: a mark in them is none of a comment
        while ($all =~ m{("(?:[^"\\]|\\.)*"|\x27(?:[^\x27\\]|\\.)*\x27)|/\*(.*?)\*/|//([^\n]*)}gs) {
            next if defined $1;
            my $said = defined $2 ? $2 : $3;
            my $at = 1 + (substr($all, 0, $-[0]) =~ tr/\n//);
            $said =~ s/^\s*\*+ ?//mg;
            for my $part (split /\n\s*\n|\n(?=\s*(?:@(?:param|return)|-) )/, $said) { give($file, $at, $part) }
        }
    }
}'

# usage: found KIND < sentences
found() {
    case $1 in
    long) perl -ne '(my $text = $_) =~ s/^[^\t]*\t//; print if scalar(() = $text =~ /(?<![\w`])[A-Za-z][\w\x27.-]*/g) > 20' ;;
    fragment) perl -ne 'print if /\t["(]*(?:What|Of|Those|That of)\b/ && !/\?/' ;;
    esac
}

files() { find "$1" -path "$1/build" -prune -o -path '*/.*' -prune -o -path "$1/benchmarks/results" -prune -o \
    \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.md' \) ! -name CHANGELOG.md -print | sort; }

all() { files "$1" | xargs perl -e "$sentences" | sed "s|^$1/||"; }

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

self_test() {
    local long="one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
    mkdir "$tree/of"
    printf '/* Takes %s. A short one. */\nconst char *a = "/* %s %s */"; // Of an image.\n' "$long" "$long" "$long" >"$tree/of/a.c"
    printf '# %s %s\n\nA sentence. What is here: %s.\n\n    %s %s\n\n| %s | %s |\n' "$long" "$long" "$long" "$long" "$long" "$long" "$long" >"$tree/of/a.md"
    all "$tree/of" >"$tree/said"
    [ "$(found long <"$tree/said" | wc -l)" = 2 ] && [ "$(found fragment <"$tree/said" | wc -l)" = 2 ] && return
    echo "prose: other sentences are found than there are" >&2
    cat "$tree/said" >&2
    exit 1
}

[ "${2:-}" != --self-test ] || self_test
all "$1" >"$tree/said"
status=0
for kind in long fragment; do
    found "$kind" <"$tree/said" >"$tree/$kind"
    [ "${2:-}" != --list ] || sed "s|^|$kind\t|" "$tree/$kind"
    n=$(wc -l <"$tree/$kind")
    if [ "$n" -lt $((${most[$kind]} - 10)) ]; then
        echo "prose: only $n sentences are of the kind '$kind'; write that number into tests/prose.sh" >&2
        status=1
    fi
    [ "$n" -le "${most[$kind]}" ] && continue
    echo "prose: $n sentences are of the kind '$kind', and ${most[$kind]} were; tests/prose.sh . --list names them" >&2
    status=1
done
exit $status
