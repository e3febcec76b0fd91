#!/usr/bin/env bash
# The `#` lines over every table of results: where, with what and how it was measured. usage: machine.sh COMMAND ...
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

field() { lscpu | sed -n "s/^ *$1: *//p" | head -n 1; }

commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$root" status --porcelain 2>/dev/null)" ] || commit+=" and changes"
printf '# machine: %s (family %s, model %s), %s cores, L3 %s, %s GiB\n' "$(field 'Model name')" "$(field 'CPU family')" "$(field Model)" "$(nproc)" "$(field 'L3 cache')" \
    "$(awk '/MemTotal/ {printf "%.0f", $2 / 1048576}' /proc/meminfo)"
printf '# vectors: %s\n' "$(field Flags | tr ' ' '\n' | grep -xE 'avx2|avx_vnni|avx512f|avx512_vnni|avx512_vpopcntdq' | paste -sd ' ' -)"
printf '# compiler: %s\n' "$(${CC:-cc} --version | head -n 1)"
printf '# system: %s, Linux %s\n' "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)" "$(uname -r)"
printf '# commit: %s\n# date: %s\n' "$commit" "$(date -u +%Y-%m-%dT%H:%MZ)"
printf '# load before: %s\n' "$(cut -d ' ' -f 1 /proc/loadavg)"
printf '# command: %s\n' "$*"
