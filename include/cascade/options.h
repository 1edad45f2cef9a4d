/* SPDX-License-Identifier: MIT
 *
 * Options without a struct of one's own. Part of cascade.h, whose head says
 * what options are.
 *
 *     cascade_start(store, "bill", input,
 *                   CASCADE_OPTIONS(cascade_start_options, .key = "bill-7"),
 *                   &started);
 *
 *     cascade_start_options options = CASCADE_DEFAULTS(cascade_start_options);
 *
 *     options.key = "bill-7";
 *
 * CASCADE_OPTIONS(type, .member = value, ...) is a pointer to options with
 * these members: good for the call, and in C to the end of the block around it.
 * CASCADE_DEFAULTS(type) is a value whose size is set, and nothing else, for
 * variables that are not static. Both are for every struct of this library that
 * begins with its size. The first wants one member at least, and in C++, which
 * wants them in their order, C++20.
 */
#ifndef CASCADE_OPTIONS_H
#define CASCADE_OPTIONS_H

#include <stddef.h>

#ifdef __cplusplus

/* g++ warns of members that are not named, which are zero on purpose; but not
 * where the initializer stands in a header like this. */
#pragma GCC system_header

template <typename Options>
inline Options
cascade_defaults_of()
{
    Options options = Options();

    options.size = sizeof(Options);
    return options;
}

template <typename Options>
inline const Options *
cascade_options_at(const Options &options)
{
    return &options;
}

#define CASCADE_DEFAULTS(type) (cascade_defaults_of<type>())
#define CASCADE_OPTIONS(type, ...) \
    (cascade_options_at(type{.size = sizeof(type), __VA_ARGS__}))

#else

#define CASCADE_DEFAULTS(type) ((type){.size = sizeof(type)})
#define CASCADE_OPTIONS(type, ...) \
    (&(const type){.size = sizeof(type), __VA_ARGS__})

#endif

#endif
