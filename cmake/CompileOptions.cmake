# SPDX-License-Identifier: MIT
#
# What every target of the project is compiled with. The options live in an
# interface target, so a project that embeds us with add_subdirectory() keeps
# its own.

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(cascade_options INTERFACE)
target_compile_features(cascade_options INTERFACE c_std_11)
target_compile_definitions(cascade_options INTERFACE _GNU_SOURCE)
target_compile_options(cascade_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -Wstrict-prototypes -Wmissing-prototypes)
# Exceptions of the host pass through our frames (cascade/exception.h).
target_compile_options(cascade_options INTERFACE -funwind-tables)
if(CASCADE_WERROR)
    target_compile_options(cascade_options INTERFACE -Werror)
endif()

# The build types that optimise define NDEBUG by themselves; asserts follow our
# own option and nothing else.
if(CASCADE_ASSERTS)
    target_compile_definitions(cascade_options INTERFACE CASCADE_ASSERTS=1)
    target_compile_options(cascade_options INTERFACE -UNDEBUG)
else()
    target_compile_definitions(cascade_options INTERFACE NDEBUG)
endif()

# Of the symbols only what a report shows: functions and lines.
if(CASCADE_SANITIZE)
    target_compile_options(cascade_options INTERFACE -g1)
    set(sanitize -fsanitize=${CASCADE_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    target_compile_options(cascade_options INTERFACE ${sanitize})
    target_link_options(cascade_options INTERFACE ${sanitize})
endif()

# Coverage for libFuzzer; only the fuzz targets are linked with it.
if(CASCADE_FUZZ)
    target_compile_options(cascade_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Counted without loss where threads meet. Hardly optimised, so that the counts
# are of the branches that stand in the source.
if(CASCADE_COVERAGE)
    target_compile_options(cascade_options INTERFACE
        --coverage -fprofile-update=atomic -O1)
    target_link_options(cascade_options INTERFACE --coverage)
endif()

include(cmake/Hardening.cmake)

# cascade_target(TARGET): the language level and warnings for one of ours.
function(cascade_target target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:cascade_options>)
endfunction()
