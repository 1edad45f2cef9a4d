# SPDX-License-Identifier: MIT
#
#   awk -v shell=psql|sqlite3 -f paste.awk FILES
#
# Writes what a person pastes into the shell to try every statement of these
# files: it is prepared there, or explained by sqlite3. psql prepares no
# statement but those that read and write rows, and runs the others, in which
# every parameter is 60000, since most of them are limits in milliseconds. Behind
# each is its name, so that what was reached shows.
function finish() {
    if (name == "")
        return
    if (skipped)
        text = ""
    else
        paste()
    printf "%s pasted: %s\n", shell == "sqlite3" ? ".print" : "\\echo", name
    name = ""
}
function paste() {
    sub(/^[ \n]+/, "", text)
    if (shell == "sqlite3")
        printf "EXPLAIN %s", text
    else if (text ~ /^(SELECT|INSERT|UPDATE|DELETE|WITH)[ \n]/)
        printf "PREPARE %s AS %sDEALLOCATE %s;\n", name, text, name
    else {
        gsub(/\$[0-9]+/, "60000", text)
        printf "%s", text
    }
}
FNR == 1 {
    finish()
    if (shell == "psql")
        printf "ROLLBACK;\nBEGIN;\n"
}
/^-- name: / {
    finish()
    name = $3
    text = ""
    skipped = 0
    next
}
/^-- not pasted: / {
    skipped = 1
}
# The lines that are pasted, with the comments between them.
name != "" && (text != "" || $0 !~ /^--/ && $0 != "") {
    text = text $0 "\n"
}
END {
    finish()
}
