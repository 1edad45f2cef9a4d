# SPDX-License-Identifier: MIT
#
# cascade_migrations(BACKEND LIST): appends to LIST the C file
# that holds the migrations in sql/BACKEND. It is made anew whenever one of
# them changes. Whoever compiles it depends on the target cascade_migrations,
# so that two targets built side by side do not both write it.

set(CASCADE_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/EmbedMigrations.cmake)

function(cascade_migrations backend out_list)
    set(folder ${PROJECT_SOURCE_DIR}/sql/${backend})
    set(generated ${PROJECT_BINARY_DIR}/generated/migrations_${backend}.c)
    file(GLOB migrations CONFIGURE_DEPENDS ${folder}/*.sql)
    add_custom_command(
        OUTPUT ${generated}
        COMMAND ${CMAKE_COMMAND} -D BACKEND=${backend} -D FOLDER=${folder}
            -D OUTPUT=${generated} -P ${CASCADE_EMBED_SCRIPT}
        DEPENDS ${migrations} ${CASCADE_EMBED_SCRIPT}
        COMMENT "Embedding the ${backend} migrations"
        VERBATIM)
    if(NOT TARGET cascade_migrations)
        add_custom_target(cascade_migrations)
    endif()
    add_custom_target(cascade_migrations_${backend} DEPENDS ${generated})
    add_dependencies(cascade_migrations cascade_migrations_${backend})
    set(${out_list} ${${out_list}} ${generated} PARENT_SCOPE)
endfunction()
