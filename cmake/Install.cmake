# SPDX-License-Identifier: MIT
#
# What `cmake --install` puts where. Two export sets: whoever links the shared
# library needs cJSON alone, and is not made to install what the static one
# needs (see cascade-config.cmake.in).

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cascade)

install(TARGETS cascade EXPORT cascade-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS cascade_static EXPORT cascade-static-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(set cascade-targets cascade-static-targets)
    install(EXPORT ${set} NAMESPACE cascade:: DESTINATION ${package_dir})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cascade
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(CASCADE_CLI)
    # Found beside its library wherever both are moved to.
    file(RELATIVE_PATH to_library
        ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(cascade_command PROPERTIES
        INSTALL_RPATH "$ORIGIN/${to_library}")
    install(TARGETS cascade_command DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES ${PROJECT_SOURCE_DIR}/src/cli/pages/cascade.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${PROJECT_SOURCE_DIR}/src/cli/pages/cascade.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME cascade)
endif()
if(CASCADE_POSTGRES)
    install(FILES ${PROJECT_SOURCE_DIR}/sql/roles.sql
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cascade)
endif()

configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/cascade-config.cmake.in
    ${PROJECT_BINARY_DIR}/cascade-config.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/cascade-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/cascade-config.cmake
    ${PROJECT_BINARY_DIR}/cascade-config-version.cmake
    DESTINATION ${package_dir})

# The prefix is found from the file's own place, so that --prefix and
# relocation work; an absolute library folder is taken as it is.
set(PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
set(PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(PC_PREFIX ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR}
   AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" up ${up})
    set(PC_PREFIX "\${pcfiledir}/${up}")
    set(PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
list(REMOVE_DUPLICATES CASCADE_PRIVATE_LDFLAGS)
list(JOIN CASCADE_PRIVATE_LDFLAGS " " PC_LIBS_PRIVATE)
configure_file(${PROJECT_SOURCE_DIR}/cascade.pc.in
    ${PROJECT_BINARY_DIR}/cascade.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cascade.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
