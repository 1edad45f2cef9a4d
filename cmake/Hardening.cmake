# SPDX-License-Identifier: MIT
#
# What makes a fault in our code harder to use, for all that we compile, and for
# the two files that are installed and run: the shared library and the command.
# The compiler is asked about each option: other architectures know others.
#
#   in each object    a canary behind arrays on the stack, a stack that cannot
#                     jump over its guard page, targets of jumps marked (x86:
#                     IBT and SHSTK; 64-bit ARM: BTI and PAC)
#   where optimised   calls of libc that know how large their target is
#   when linked       all symbols bound before the first call, their table
#                     read-only from then on, no stack that can be executed; the
#                     command at an address of its own in each run
#
# tests/packaging/hardening.sh reads all of this from the built files.

include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

# An option that is only warned about is not taken.
set(CMAKE_REQUIRED_FLAGS -Werror)
foreach(option
        -fstack-protector-strong
        -fstack-clash-protection
        -fcf-protection
        -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "CASCADE_TAKES${option}" taken)
    check_c_compiler_flag(${option} ${taken})
    if(${taken})
        target_compile_options(cascade_options INTERFACE ${option})
    endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)

# Sanitizers stand in for the same calls of libc. What the user, or the
# distribution's compiler, has defined already stays as it is; and without
# optimisation libc only warns. So each configuration is asked by itself, with
# its own flags.
set(CASCADE_FORTIFIES "")
if(NOT (CASCADE_SANITIZE OR CASCADE_FUZZ OR CASCADE_COVERAGE))
    set(configurations ${CMAKE_CONFIGURATION_TYPES})
    if(NOT configurations)
        set(configurations "${CMAKE_BUILD_TYPE}")
        if(NOT CMAKE_BUILD_TYPE)
            set(configurations None)
        endif()
    endif()
    foreach(configuration IN LISTS configurations)
        string(MAKE_C_IDENTIFIER "CASCADE_FORTIFIES_${configuration}" fortifies)
        set(CMAKE_TRY_COMPILE_CONFIGURATION ${configuration})
        check_c_source_compiles("
            #if !defined(__OPTIMIZE__) || defined(_FORTIFY_SOURCE)
            #error
            #endif
            int main(void) { return 0; }" ${fortifies})
        if(${fortifies})
            list(APPEND CASCADE_FORTIFIES ${configuration})
        endif()
    endforeach()
    unset(CMAKE_TRY_COMPILE_CONFIGURATION)
endif()
foreach(configuration IN LISTS CASCADE_FORTIFIES)
    if(CMAKE_CONFIGURATION_TYPES)
        target_compile_definitions(cascade_options INTERFACE
            $<$<CONFIG:${configuration}>:_FORTIFY_SOURCE=2>)
    else()
        target_compile_definitions(cascade_options INTERFACE _FORTIFY_SOURCE=2)
    endif()
endforeach()

set(CASCADE_HARDENING_LINK "")
foreach(option -z,relro -z,now -z,noexecstack)
    string(MAKE_C_IDENTIFIER "CASCADE_LINKS${option}" taken)
    check_linker_flag(C LINKER:${option} ${taken})
    if(${taken})
        list(APPEND CASCADE_HARDENING_LINK LINKER:${option})
    endif()
endforeach()
check_pie_supported(LANGUAGES C)

# cascade_harden(TARGET): how the library and the command are linked. Not in the
# options of all targets: those of a static library would reach the program that
# it is linked into.
function(cascade_harden target)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_options(${target} PRIVATE ${CASCADE_HARDENING_LINK})
endfunction()
