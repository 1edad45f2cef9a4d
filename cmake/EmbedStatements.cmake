# SPDX-License-Identifier: MIT
#
#   cmake -D BACKEND=sqlite -D FOLDER=sql/sqlite/statements -D OUTPUT=x.c
#         -D HEADER=x.h -P EmbedStatements.cmake
#
# Writes the statements of one backend as C: an enum of their names, and a table
# of their texts (see src/store/statement.h). A file holds statements of one
# subject, each of which can be pasted into the shell of its database:
#
#   -- name: scan_executions             the enumerator CSC_..._SCAN_EXECUTIONS
#   -- verb: read executions             for error texts
#   -- form: scan_children = children    the same text with these parts
#   -- one: insert_event                 the same for one row: the first
#                                        unnest($1::uuid[], ...) becomes
#                                        (VALUES ($1::uuid, ...))
#   --
#   -- Comments. Lines that begin with two dashes are left out.
#   SELECT 1
#   LIMIT 100 /* CASCADE_LOAD_MAX */     checked against the constant
#   -- if children                       a part; the next such line ends it
#   -- unless children
#   -- end
#   ;
#
# Parts that a form does not name are left out. For PostgreSQL `public` stands
# for the schema and `cascade_channel` for the channel.

cmake_minimum_required(VERSION 3.20)

foreach(name BACKEND FOLDER OUTPUT HEADER)
    if(NOT DEFINED ${name})
        message(FATAL_ERROR "EmbedStatements: ${name} is not set")
    endif()
endforeach()

file(GLOB paths ${FOLDER}/*.sql)
list(SORT paths)
if(NOT paths)
    message(FATAL_ERROR "no statements in ${FOLDER}")
endif()

string(TOUPPER "CSC_${BACKEND}" prefix)
string(ASCII 1 left_bracket)
string(ASCII 2 right_bracket)
string(ASCII 3 semicolon)
set(letters a b c d e f g h i j k l m n o p)
set(enumerators "")
set(parts_enum "")
set(texts "")
set(rows "")
set(checks "")

# Opens a part with the letter of `part`, in lower case, or in upper case for
# `unless`; closes the one before.
macro(open_part part kind)
    if(part_open)
        string(APPEND body "`.")
    endif()
    list(FIND parts ${part} at)
    if(at EQUAL -1)
        list(LENGTH parts at)
        list(APPEND parts ${part})
    endif()
    list(GET letters ${at} letter)
    if("${kind}" STREQUAL "unless")
        string(TOUPPER ${letter} letter)
    endif()
    string(APPEND body "`${letter}")
    set(part_open TRUE)
endmacro()

# add_text(NAME TEXT): the text as a C string, a line each.
macro(add_text id text)
    set(literal "${text}")
    string(REPLACE "\"" "\\\"" literal "${literal}")
    string(REPLACE "\n" "\\n\"\n    \"" literal "${literal}")
    string(APPEND texts "static const char text_${id}[] =\n    \"${literal}\"${semicolon}\n\n")
endmacro()

# add_row(NAME TEXT BITS MORE)
macro(add_row id text bits more)
    if(NOT "${id}" MATCHES "^[a-z][a-z0-9_]*$")
        message(FATAL_ERROR "${path}: a statement is named some_words: ${id}")
    endif()
    string(TOUPPER "${prefix}_${id}" enumerator)
    string(APPEND enumerators "    ${enumerator},\n")
    string(APPEND rows "    {text_${text}, ${verb}, ${bits}, ${more}},\n")
endmacro()

# What was read of a statement becomes rows.
macro(finish)
    if(NOT "${statement}" STREQUAL "")
        if(part_open)
            message(FATAL_ERROR "${path}: ${statement}: a part has no end")
        endif()
        if(NOT body MATCHES "${semicolon}\n$")
            message(FATAL_ERROR "${path}: ${statement}: does not end with `;`")
        endif()
        string(REGEX REPLACE "\n*${semicolon}\n$" "" body "${body}")
        add_text(${statement} "${body}")
        set(more 0)
        if(NOT "${one}" STREQUAL "")
            string(TOUPPER "${prefix}_${one}" more)
        endif()
        add_row(${statement} ${statement} 0 ${more})
        if(NOT "${one}" STREQUAL "")
            if(NOT body MATCHES "unnest\\(([^)]*)\\)")
                message(FATAL_ERROR "${path}: ${statement}: has no unnest()")
            endif()
            set(arrays "${CMAKE_MATCH_0}")
            set(values "(VALUES (${CMAKE_MATCH_1}))")
            string(REPLACE "${left_bracket}${right_bracket}" "" values
                "${values}")
            string(FIND "${body}" "${arrays}" at)
            string(LENGTH "${arrays}" length)
            math(EXPR behind "${at} + ${length}")
            string(SUBSTRING "${body}" 0 ${at} before)
            string(SUBSTRING "${body}" ${behind} -1 after)
            add_text(${one} "${before}${values}${after}")
            add_row(${one} ${one} 0 0)
        endif()
        set(bit 0)
        foreach(part IN LISTS parts)
            string(TOUPPER "${prefix}_${statement}_IF_${part}" constant)
            string(APPEND parts_enum "    ${constant} = 1U << ${bit},\n")
            math(EXPR bit "${bit} + 1")
        endforeach()
        foreach(form IN LISTS forms)
            if(NOT form MATCHES "^([a-z0-9_]+) = ([a-z_ ]+)$")
                message(FATAL_ERROR "${path}: a form is `name = parts`: ${form}")
            endif()
            set(form_name ${CMAKE_MATCH_1})
            string(REPLACE " " ";" names "${CMAKE_MATCH_2}")
            set(bits 0)
            foreach(part IN LISTS names)
                list(FIND parts ${part} at)
                if(at EQUAL -1)
                    message(FATAL_ERROR "${path}: ${form_name}: no part ${part}")
                endif()
                math(EXPR bits "${bits} | (1 << ${at})")
            endforeach()
            add_row(${form_name} ${statement} "${bits}U" 0)
        endforeach()
    endif()
    set(body "")
    set(parts "")
    set(forms "")
    set(one "")
    set(verb NULL)
    set(part_open FALSE)
endmacro()

foreach(path IN LISTS paths)
    file(READ ${path} source)
    if(source MATCHES "[\\`@#]")
        message(FATAL_ERROR "${path}: holds one of \\ ` @ #")
    endif()
    string(REPLACE "[" "${left_bracket}" source "${source}")
    string(REPLACE "]" "${right_bracket}" source "${source}")
    string(REPLACE ";" "${semicolon}" source "${source}")
    if(BACKEND STREQUAL "postgres")
        string(REPLACE "public" "@" source "${source}")
        string(REPLACE "cascade_channel" "#" source "${source}")
    endif()
    string(REPLACE "\n" ";" lines "${source}")
    set(statement "")
    foreach(line IN LISTS lines)
        if(line MATCHES "^-- name: (.*)$")
            set(next ${CMAKE_MATCH_1})
            finish()
            set(statement ${next})
        elseif(line MATCHES "^-- form: (.*)$")
            list(APPEND forms ${CMAKE_MATCH_1})
        elseif(line MATCHES "^-- one: (.*)$")
            set(one ${CMAKE_MATCH_1})
        elseif(line MATCHES "^-- verb: (.*)$")
            set(verb "\"${CMAKE_MATCH_1}\"")
        elseif(line MATCHES "^ *-- (if|unless) ([a-z_]+)$")
            open_part(${CMAKE_MATCH_2} ${CMAKE_MATCH_1})
        elseif(line MATCHES "^ *-- end$")
            string(APPEND body "`.")
            set(part_open FALSE)
        elseif(NOT line MATCHES "^ *--" AND NOT line STREQUAL "")
            if(statement STREQUAL "")
                message(FATAL_ERROR "${path}: no name before: ${line}")
            endif()
            if(line MATCHES " -- ")
                message(FATAL_ERROR "${path}: a comment has its own line: ${line}")
            endif()
            if(line MATCHES "([0-9]+|\\([0-9]+ << [0-9]+\\)) /\\* ([A-Z_]+) \\*/")
                string(APPEND checks
                    "_Static_assert(${CMAKE_MATCH_1} == ${CMAKE_MATCH_2},\n"
                    "    \"${CMAKE_MATCH_2} in ${statement}\")${semicolon}\n")
                string(REPLACE " /* ${CMAKE_MATCH_2} */" "" line "${line}")
            endif()
            string(APPEND body "${line}\n")
        endif()
    endforeach()
    finish()
endforeach()

foreach(name texts rows checks)
    string(REPLACE "${left_bracket}" "[" ${name} "${${name}}")
    string(REPLACE "${right_bracket}" "]" ${name} "${${name}}")
    string(REPLACE "${semicolon}" ";" ${name} "${${name}}")
endforeach()
if(NOT parts_enum STREQUAL "")
    set(parts_enum "/* The parts of a text. */\nenum {\n${parts_enum}};\n\n")
endif()

file(CONFIGURE OUTPUT ${HEADER} @ONLY CONTENT
"/* Generated from sql/@BACKEND@/statements: do not edit. */
#ifndef @prefix@_STATEMENTS_H
#define @prefix@_STATEMENTS_H

#include \"store/statement.h\"

typedef enum csc_@BACKEND@_statement {
@enumerators@    @prefix@_STATEMENTS /* how many */
} csc_@BACKEND@_statement;

@parts_enum@extern const csc_statement csc_@BACKEND@_statements[@prefix@_STATEMENTS];

#endif
")
file(WRITE ${OUTPUT}
"/* Generated from sql/${BACKEND}/statements: do not edit. */

#include \"store/${BACKEND}/statements.h\"

#include <stddef.h>

#include \"cascade/store.h\"

/* What compilers of C99 had to take at least. */
#pragma GCC diagnostic ignored \"-Woverlength-strings\"

${checks}
${texts}const csc_statement csc_${BACKEND}_statements[${prefix}_STATEMENTS] = {
${rows}};
")
