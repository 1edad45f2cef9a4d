# SPDX-License-Identifier: MIT
#
# The libraries we stand on. cJSON is part of our public header; the others are
# seen by the library alone: CASCADE_PRIVATE_MODULES are their names for
# pkg-config, _TARGETS what we link, _LDFLAGS the same as options.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

pkg_check_modules(CASCADE_CJSON REQUIRED IMPORTED_TARGET GLOBAL
    libcjson>=1.7.15)
set(CASCADE_PRIVATE_MODULES "")
set(CASCADE_PRIVATE_TARGETS Threads::Threads)
set(CASCADE_PRIVATE_LDFLAGS "")

# cascade_private_module(NAME REQUIREMENT): the target is named after the module
# in upper case, as cascade-config.cmake.in expects.
macro(cascade_private_module name requirement)
    string(TOUPPER CASCADE_${name} prefix)
    pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET GLOBAL
        ${name}${requirement})
    list(APPEND CASCADE_PRIVATE_MODULES ${name})
    list(APPEND CASCADE_PRIVATE_TARGETS PkgConfig::${prefix})
    list(APPEND CASCADE_PRIVATE_LDFLAGS ${${prefix}_LDFLAGS})
endmacro()

cascade_private_module(uuid "")
if(CASCADE_SQLITE)
    cascade_private_module(sqlite3 ">=3.35")
endif()
if(CASCADE_POSTGRES)
    cascade_private_module(libpq ">=14") # the first with the pipeline mode
endif()
