# SPDX-License-Identifier: MIT
#
# What is true of the tree and of the built library as a whole. The checks of
# the tree take its root, so that checks_can_fail.sh can hand them bad ones.

# A sanitizer adds symbols of its own and its runtime to every program; of the
# tree it knows nothing new.
if(CASCADE_SANITIZE)
    return()
endif()

cascade_script_test(headers_compile_alone headers.sh ${PROJECT_SOURCE_DIR}
    NEEDS clang g++)
cascade_script_test(includes_run_one_way layering.sh ${PROJECT_SOURCE_DIR})
set(objects ${cascade_objects})
if(CASCADE_CLI)
    list(APPEND objects $<TARGET_OBJECTS:cascade_command>)
endif()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/objects.list
    CONTENT "$<JOIN:${objects},\n>\n")
cascade_script_test(calls_run_down_the_floors floors.sh
    ${PROJECT_BINARY_DIR}/objects.list)
cascade_script_test(documents_name_what_is_there documents.sh
    ${PROJECT_SOURCE_DIR})
cascade_script_test(sources_keep_the_style style.sh ${PROJECT_SOURCE_DIR})
cascade_script_test(sources_are_formatted format.sh ${PROJECT_SOURCE_DIR}
    NEEDS clang-format)
cascade_script_test(checks_of_the_tree_can_fail checks_can_fail.sh
    NEEDS clang-format clang g++ LABELS long)
cascade_script_test(migrations_are_embedded_unchanged migrations.sh
    ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} NEEDS clang)
cascade_script_test(statements_are_embedded_by_name statements.sh
    ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} NEEDS clang)
cascade_script_test(library_exports_its_headers_alone symbols.sh
    ${PROJECT_SOURCE_DIR} $<TARGET_FILE:cascade> $<TARGET_FILE:cascade_static>)
set(fortified "")
if(NOT (CASCADE_COVERAGE OR CASCADE_FUZZ))
    set(fortified $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:fortified>)
endif()
foreach(kind library archive command)
    set(target_of_library cascade)
    set(target_of_archive cascade_static)
    set(target_of_command cascade_command)
    if(TARGET ${target_of_${kind}})
        cascade_script_test(${kind}_is_hardened hardening.sh
            ${CMAKE_C_COMPILER} ${kind} $<TARGET_FILE:${target_of_${kind}}>
            ${fortified})
    endif()
endforeach()
cascade_script_test(exceptions_are_failed_attempts exceptions.sh
    ${PROJECT_SOURCE_DIR} $<TARGET_FILE_DIR:cascade> NEEDS clang g++)
cascade_script_test(plain_build_is_for_users plain.sh ${CMAKE_COMMAND}
    ${PROJECT_SOURCE_DIR} LABELS long)
cascade_script_test(installed_library_is_usable install.sh
    ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER}
    $<$<BOOL:${CASCADE_CLI}>:command>)
if(CASCADE_CONFORMANCE AND NOT CASCADE_SANITIZE AND NOT CASCADE_COVERAGE)
    cascade_script_test(store_from_outside_conforms conformance.sh
        ${PROJECT_SOURCE_DIR} ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR}
        ${CMAKE_C_COMPILER})
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/README.md)
    set(readme_command "")
    if(CASCADE_CLI)
        set(readme_command $<TARGET_FILE:cascade_command>)
    endif()
    cascade_script_test(program_in_the_readme_runs readme.sh
        ${PROJECT_SOURCE_DIR} $<TARGET_FILE_DIR:cascade> ${CMAKE_C_COMPILER}
        ${readme_command})
endif()
