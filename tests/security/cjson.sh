#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   cjson.sh ROOT LIBRARY
#
# cJSON is what users build and read payloads with. The library itself parses,
# prints, copies and compares nothing with it: of its functions only those
# below, in which no fault is known, are called (SECURITY.md tells of the known
# ones). A further one is to be looked at before it is added here.
set -eu

root=$1
library=$2
allowed='AddItemToArray AddItemToObject AddNumberToObject AddStringToObject
    AddTrueToObject CreateArray CreateFalse CreateNull CreateNumber CreateObject
    CreateString CreateTrue Delete GetArraySize GetObjectItemCaseSensitive GetStringValue IsArray IsNumber
    IsObject'
bad=no

named=$(nm -D --undefined-only "$library" |
    sed -n 's/.* cJSON\(Utils\)*_\([A-Za-z]*\)$/\1\2/p' | sort -u)
[ -n "$named" ] || { echo "no cJSON in $library" >&2; exit 1; }
for name in $named; do
    # Unquoted: a list of words.
    case " $(echo $allowed) " in
    *" $name "*) ;;
    *)
        echo "the library calls cJSON's $name" >&2
        bad=yes
        ;;
    esac
done
used=0
grep -rn 'cJSON_Utils' "$root/src" "$root/include" "$root/CMakeLists.txt" \
    "$root/cmake" >&2 || used=$?
if [ "$used" -ne 1 ]; then
    echo "cJSON_Utils is not to be used, or could not be looked for" >&2
    bad=yes
fi
[ "$bad" = no ]
