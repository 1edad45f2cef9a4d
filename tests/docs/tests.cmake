# SPDX-License-Identifier: MIT
#
# The guide: its programs run, and its chapters say what is so.

file(GLOB guide_programs CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/docs/programs/*.c)
foreach(program IN LISTS guide_programs)
    get_filename_component(name ${program} NAME_WE)
    set(store memory:)
    if(CASCADE_SQLITE)
        set(store sqlite:guide.db)
    endif()
    if(name STREQUAL transaction)
        set(store guide.db)
    endif()
    if(TARGET guide_${name})
        cascade_script_test(docs_program_${name} program.sh
            $<TARGET_FILE:guide_${name}> ${store})
    endif()
endforeach()

# A sanitizer knows nothing new of the tree.
if(CASCADE_SANITIZE)
    return()
endif()

cascade_script_test(docs_show_what_is_compiled blocks.sh ${PROJECT_SOURCE_DIR})
cascade_script_test(docs_have_each_column_and_code tables.sh
    ${PROJECT_SOURCE_DIR})
if(CASCADE_SQLITE)
    cascade_script_test(docs_queries_run_on_sqlite queries.sh
        ${PROJECT_SOURCE_DIR} $<TARGET_FILE:guide_recurring> sqlite
        NEEDS sqlite3)
endif()
if(CASCADE_POSTGRES)
    cascade_script_test(docs_queries_run_on_postgres queries.sh
        ${PROJECT_SOURCE_DIR} $<TARGET_FILE:guide_recurring> postgres
        NEEDS server)
endif()
if(CASCADE_CLI)
    cascade_script_test(docs_name_commands_that_are_there commands.sh
        ${PROJECT_SOURCE_DIR} $<TARGET_FILE:cascade_command>)
endif()
