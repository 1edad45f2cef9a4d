# SPDX-License-Identifier: MIT
#
# Debian packages: install what is missing and nothing else. To be sourced,
# after stage.sh and postgres.sh.
#
#   packages_ensure NAME...   these packages are installed when it returns, all
#                             in one go; a PostgreSQL server without a cluster,
#                             pgbouncer without a service
#
# With everything there it asks dpkg once, and neither root nor a network is
# needed. Somebody else may be installing at the same time: that is waited for,
# APT_WAIT_SECONDS long.
#
# A script that has ensured all that those need which it calls sets and exports
# CASCADE_PACKAGES=ready: they look no more. What is there while apt works
# elsewhere may look for a moment as if it were not.

PACKAGES_BUILD="gcc libc6-dev cmake make pkg-config libcjson-dev libpq-dev
    libsqlite3-dev libuv1-dev uuid-dev"
PACKAGES_TEST="g++ clang clang-format clang-tidy cppcheck gcovr libcmocka-dev
    sqlite3 libclang-rt-14-dev man-db openssl patch spin tzdata valgrind"
PACKAGES_SERVER="postgresql pgbouncer"

APT_WAIT_SECONDS=600

packages_ensure() {
    [ "${CASCADE_PACKAGES:-}" != ready ] || return 0
    command -v dpkg-query >/dev/null ||
        die "this script knows Debian's packages only (no dpkg-query here)"
    missing=$(packages_missing "$@")
    # Unquoted: a list of names.
    [ -z "$missing" ] || packages_install $missing
}

packages_missing() {
    for name in "$@"; do
        packages_is_there "$name" || printf '%s ' "$name"
    done
}

# A package that waits for triggers, of its own or of others, can be used. Of
# PostgreSQL any version will do, and whatever package it comes from.
packages_is_there() {
    if [ "$1" = postgresql ]; then
        pg_is_installed
        return
    fi
    case $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) in
    installed | triggers-awaited | triggers-pending) return 0 ;;
    *) return 1 ;;
    esac
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
    packages_keep_quiet "$@"
    packages_status=0
    (
        packages_apt update
        packages_apt install -y --no-install-recommends "$@"
    ) || packages_status=$?
    case " $* " in
    *" pgbouncer "*)
        as_root update-rc.d pgbouncer disable >/dev/null 2>&1 || :
        ;;
    esac
    packages_cleanup
    return "$packages_status"
}

# packages_apt ARGUMENTS...: apt-get, once nobody else has it. DPkg's lock it
# waits for by itself; those of its lists and of its archives it does not.
packages_apt() {
    packages_until=$(($(date +%s) + APT_WAIT_SECONDS))
    packages_log=$(log_create apt)
    until as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get \
        -o "DPkg::Lock::Timeout=$APT_WAIT_SECONDS" -o Acquire::Retries=3 \
        "$@" >"$packages_log" 2>&1 </dev/null; do
        if ! packages_is_locked "$packages_log"; then
            log_show "$packages_log"
            die "apt-get $1 failed"
        elif [ "$(date +%s)" -ge "$packages_until" ]; then
            log_show "$packages_log"
            die "apt-get $1: somebody else has had apt's lock for" \
                "$APT_WAIT_SECONDS s: try again once that has ended"
        fi
        sleep 1
    done
    rm -f "$packages_log"
}

packages_is_locked() {
    grep -q 'E: Could not get lock\|E: Unable to.* lock' "$1" &&
        ! grep -q 'are you root' "$1"
}

# Installing Debian's server creates a cluster for the whole machine, installing
# its pgbouncer starts one, now and at every start. We want the programs only,
# so both are switched off for the while. What was there before is left as it
# was: a server installed later by its owner is none of our business, and a
# machine with rules of its own for what may start keeps them.
packages_keep_quiet() {
    case " $* " in
    *" postgresql "*)
        packages_setting=/etc/postgresql-common/createcluster.d/zz-cascade.conf
        as_root mkdir -p "${packages_setting%/*}"
        packages_write "create_main_cluster = false" "$packages_setting"
        ;;
    esac
    case " $* " in
    *" pgbouncer "*)
        [ ! -e /usr/sbin/policy-rc.d ] || return 0
        packages_policy=/usr/sbin/policy-rc.d
        packages_write '#!/bin/sh
exit 101' "$packages_policy"
        as_root chmod 755 "$packages_policy"
        ;;
    esac
}

packages_write() {
    printf '%s\n' "$1" | as_root tee "$2" >/dev/null
}

# For a trap on EXIT: an interrupted installation leaves no setting.
packages_cleanup() {
    [ -z "${packages_setting:-}" ] || as_root rm -f "$packages_setting"
    packages_setting=
    [ -z "${packages_policy:-}" ] || as_root rm -f "$packages_policy"
    packages_policy=
}
