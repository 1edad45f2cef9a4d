# SPDX-License-Identifier: MIT
#
# The conformance suite as a library, for stores that are built elsewhere:
# `cmake --install BUILD --component conformance` puts it beside the static
# library, of the same build, whose inner functions it uses.

pkg_check_modules(CASCADE_CMOCKA REQUIRED IMPORTED_TARGET cmocka)
include(${PROJECT_SOURCE_DIR}/tests/store/conformance/sources.cmake)
list(TRANSFORM conformance PREPEND ${PROJECT_SOURCE_DIR}/tests/store/)

add_library(cascade_conformance STATIC
    ${conformance}
    ${PROJECT_SOURCE_DIR}/tests/support/fake_clock.c
    ${PROJECT_SOURCE_DIR}/tests/support/rows.c)
cascade_target(cascade_conformance)
target_include_directories(cascade_conformance
    PRIVATE
    ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src
    INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_definitions(cascade_conformance PRIVATE
    $<$<BOOL:${CASCADE_SQLITE}>:CASCADE_HAVE_SQLITE=1>
    $<$<BOOL:${CASCADE_POSTGRES}>:CASCADE_HAVE_POSTGRES=1>)
target_link_libraries(cascade_conformance
    PRIVATE ${CASCADE_PRIVATE_TARGETS}
    PUBLIC cascade_static PkgConfig::CASCADE_CMOCKA)
set_target_properties(cascade_conformance PROPERTIES EXPORT_NAME conformance)

install(TARGETS cascade_conformance EXPORT cascade-conformance-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT conformance EXCLUDE_FROM_ALL)
install(EXPORT cascade-conformance-targets NAMESPACE cascade::
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cascade
    COMPONENT conformance EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/tests/store/conformance/suite.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cascade RENAME conformance.h
    COMPONENT conformance EXCLUDE_FROM_ALL)
