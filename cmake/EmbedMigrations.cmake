# SPDX-License-Identifier: MIT
#
#   cmake -D BACKEND=sqlite -D FOLDER=sql/sqlite -D OUTPUT=x.c
#         -P EmbedMigrations.cmake
#
# Writes the migrations of one backend as C (see src/store/migrations.h).
#
# The files are read as hexadecimal and written as character constants. Text
# would have to survive CMake's own syntax (semicolons, brackets, backslashes),
# and a C string literal may have only 4,095 bytes. '\xe2' and not 0xe2, since
# the latter does not fit a signed char.

foreach(name BACKEND FOLDER OUTPUT)
    if(NOT DEFINED ${name})
        message(FATAL_ERROR "EmbedMigrations: ${name} is not set")
    endif()
endforeach()

file(GLOB paths ${FOLDER}/*.sql)
list(SORT paths)
if(NOT paths)
    message(FATAL_ERROR "no migrations in ${FOLDER}")
endif()

set(arrays "")
set(rows "")
set(expected 1)
foreach(path IN LISTS paths)
    cmake_path(GET path STEM LAST_ONLY name)
    if(NOT name MATCHES "^([0-9][0-9][0-9])_[a-z0-9_]+$")
        message(FATAL_ERROR "${path}: a migration is named 001_some_words.sql")
    endif()
    string(REGEX REPLACE "^0+" "" number ${CMAKE_MATCH_1})
    if(NOT number EQUAL expected)
        message(FATAL_ERROR "${path}: migration ${expected} should come here")
    endif()
    math(EXPR expected "${expected} + 1")

    file(READ ${path} bytes HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
    if(bytes MATCHES "x00")
        message(FATAL_ERROR "${path}: holds a NUL byte")
    endif()
    string(REPEAT "'.....," 10 line)    # ten constants to a line
    string(REGEX REPLACE "(${line})" "\\1\n    " bytes "${bytes}")
    string(APPEND arrays
        "static const char sql_${number}[] = {\n    ${bytes}'\\0'};\n\n")
    string(APPEND rows "    {${number}, \"${name}\", sql_${number}},\n")
endforeach()

file(WRITE ${OUTPUT}
"/* Generated from sql/${BACKEND}: do not edit. */

#include \"store/migrations.h\"

${arrays}const csc_migration csc_migrations_${BACKEND}[] = {
${rows}};

const size_t csc_migrations_${BACKEND}_count =
    sizeof(csc_migrations_${BACKEND}) / sizeof(csc_migrations_${BACKEND}[0]);
")
