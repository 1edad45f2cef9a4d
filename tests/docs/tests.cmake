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
