# SPDX-License-Identifier: MIT
#
# Debian packages: install what is missing and nothing else. To be sourced,
# after stage.sh.
#
#   packages_ensure NAME...      these packages are installed when it returns
#   packages_ensure_postgresql   so is a PostgreSQL server, without a cluster
#   packages_ensure_pgbouncer    so is pgbouncer, without a service
#
# With everything there, both ask dpkg once and neither root nor a network is
# needed.

PACKAGES_BUILD="gcc libc6-dev cmake make pkg-config libcjson-dev libpq-dev
    libsqlite3-dev libuv1-dev uuid-dev"
PACKAGES_TEST="g++ clang clang-format clang-tidy cppcheck gcovr libcmocka-dev
    sqlite3 libclang-rt-14-dev man-db openssl patch spin valgrind"

packages_missing() {
    for name in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) ||
            state=none
        [ "$state" = installed ] || printf '%s ' "$name"
    done
}

# packages_may_install NAME...: ends the script where we cannot.
packages_may_install() {
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        die "these packages are missing: $*
       Run this as root, or where sudo is, or install them: apt-get install $*"
    fi
}

packages_install() {
    packages_may_install "$@"
    stage "Installing packages: $*"
    if [ -z "${packages_updated:-}" ]; then
        quietly as_root apt-get update || die "apt-get update failed"
        packages_updated=yes
    fi
    quietly as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$@" ||
        die "apt-get install failed"
}

packages_ensure() {
    command -v dpkg-query >/dev/null ||
        die "this script knows Debian's packages only (no dpkg-query here)"
    missing=$(packages_missing "$@")
    # Unquoted: a list of names.
    [ -z "$missing" ] || packages_install $missing
}

# Installing Debian's pgbouncer starts one for the whole machine, now and at
# every start. We want the program only. A machine with rules of its own for
# what may start keeps them.
packages_ensure_pgbouncer() {
    [ -z "$(packages_missing pgbouncer)" ] && return 0
    packages_may_install pgbouncer
    if [ ! -e /usr/sbin/policy-rc.d ]; then
        packages_policy=/usr/sbin/policy-rc.d
        printf '#!/bin/sh\nexit 101\n' |
            as_root tee "$packages_policy" >/dev/null
        as_root chmod 755 "$packages_policy"
    fi
    status=0
    (packages_install pgbouncer) || status=$?
    as_root update-rc.d pgbouncer disable >/dev/null 2>&1 || :
    packages_cleanup
    return "$status"
}

# Installing Debian's server creates a cluster for the whole machine and starts
# it. We want the programs only, so that is switched off for the while, and left
# as it was found: a server installed later by its owner is none of our business.
packages_ensure_postgresql() {
    for initdb in /usr/lib/postgresql/*/bin/initdb; do
        [ ! -x "$initdb" ] || return 0
    done
    packages_may_install postgresql
    folder=/etc/postgresql-common/createcluster.d
    packages_setting=$folder/zz-cascade.conf
    as_root mkdir -p "$folder"
    echo "create_main_cluster = false" |
        as_root tee "$packages_setting" >/dev/null
    status=0
    (packages_install postgresql) || status=$?
    packages_cleanup
    return "$status"
}

# For a trap on EXIT: an interrupted installation leaves no setting.
packages_cleanup() {
    [ -z "${packages_setting:-}" ] || as_root rm -f "$packages_setting"
    packages_setting=
    [ -z "${packages_policy:-}" ] || as_root rm -f "$packages_policy"
    packages_policy=
}
