# SPDX-License-Identifier: MIT
#
# The libraries we stand on. cJSON is part of our public header; the others are
# seen by the library alone. CASCADE_PRIVATE_MODULES names those for pkg-config.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

pkg_check_modules(CASCADE_CJSON REQUIRED IMPORTED_TARGET GLOBAL libcjson>=1.7.15)
pkg_check_modules(CASCADE_UUID REQUIRED IMPORTED_TARGET GLOBAL uuid)
set(CASCADE_PRIVATE_MODULES uuid)
set(CASCADE_PRIVATE_TARGETS PkgConfig::CASCADE_UUID Threads::Threads m)

if(CASCADE_SQLITE)
    pkg_check_modules(CASCADE_SQLITE3 REQUIRED IMPORTED_TARGET GLOBAL
        sqlite3>=3.35)
    list(APPEND CASCADE_PRIVATE_MODULES sqlite3)
    list(APPEND CASCADE_PRIVATE_TARGETS PkgConfig::CASCADE_SQLITE3)
endif()
if(CASCADE_POSTGRES)
    # Version 14 brought the pipeline mode to libpq.
    pkg_check_modules(CASCADE_LIBPQ REQUIRED IMPORTED_TARGET GLOBAL libpq>=14)
    list(APPEND CASCADE_PRIVATE_MODULES libpq)
    list(APPEND CASCADE_PRIVATE_TARGETS PkgConfig::CASCADE_LIBPQ)
endif()
