# SPDX-License-Identifier: MIT
#
# SQL that is embedded as C. Each file is made anew whenever one of those that
# it is made of changes. Whoever compiles it depends on the target
# cascade_embedded, so that two targets built side by side do not both write it,
# and has CASCADE_GENERATED in its path.

set(CASCADE_EMBED_FOLDER ${CMAKE_CURRENT_LIST_DIR})
set(CASCADE_GENERATED ${PROJECT_BINARY_DIR}/generated)

# cascade_embed(SCRIPT BACKEND FOLDER OUTPUTS...): runs the script over the
# files of a folder; the first output is OUTPUT to it, the second HEADER.
function(cascade_embed script backend folder)
    set(header "")
    if(ARGC GREATER 4)
        set(header -D HEADER=${ARGV4})
    endif()
    set(script ${CASCADE_EMBED_FOLDER}/${script})
    cmake_path(GET ARGV3 STEM name)
    file(GLOB files CONFIGURE_DEPENDS ${folder}/*.sql)
    add_custom_command(
        OUTPUT ${ARGN}
        COMMAND ${CMAKE_COMMAND} -D BACKEND=${backend} -D FOLDER=${folder}
            -D OUTPUT=${ARGV3} ${header} -P ${script}
        DEPENDS ${files} ${script}
        COMMENT "Embedding ${name}"
        VERBATIM)
    if(NOT TARGET cascade_embedded)
        add_custom_target(cascade_embedded)
    endif()
    add_custom_target(cascade_${name} DEPENDS ${ARGN})
    add_dependencies(cascade_embedded cascade_${name})
endfunction()

# cascade_migrations(BACKEND LIST): appends to LIST the C file with the
# migrations in sql/BACKEND.
function(cascade_migrations backend out_list)
    set(generated ${CASCADE_GENERATED}/migrations_${backend}.c)
    cascade_embed(EmbedMigrations.cmake ${backend}
        ${PROJECT_SOURCE_DIR}/sql/${backend} ${generated})
    set(${out_list} ${${out_list}} ${generated} PARENT_SCOPE)
endfunction()

# cascade_statements(BACKEND LIST): appends to LIST the C file with the
# statements in sql/BACKEND/statements. Its header is
# "store/BACKEND/statements.h".
function(cascade_statements backend out_list)
    set(generated ${CASCADE_GENERATED}/statements_${backend}.c)
    file(MAKE_DIRECTORY ${CASCADE_GENERATED}/store/${backend})
    cascade_embed(EmbedStatements.cmake ${backend}
        ${PROJECT_SOURCE_DIR}/sql/${backend}/statements ${generated}
        ${CASCADE_GENERATED}/store/${backend}/statements.h)
    set(${out_list} ${${out_list}} ${generated} PARENT_SCOPE)
endfunction()
