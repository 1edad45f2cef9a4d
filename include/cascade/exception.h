/* SPDX-License-Identifier: MIT
 *
 * Nodes in C++. Part of cascade.h; including it alone is the same.
 *
 * In a program that is compiled with exceptions cascade_engine_register() is a
 * function of this header, so nothing has to be done: an exception that leaves
 * the function of a node is a failed attempt, as CASCADE_ERR_FAILED is; one
 * that leaves a step or a compensation is that of the step or the compensation,
 * and cascade_node_step() returns it. The recorded error has the text that
 * what() gives, or says that there is none. What unwinds a thread that is
 * cancelled is let through.
 *
 * An exception must leave nothing else that the library calls (clocks, logs,
 * sinks, `destroy`), nor a node that is registered from C, or from C++ without
 * exceptions: the C++ runtime ends the process then.
 */
#ifndef CASCADE_EXCEPTION_H
#define CASCADE_EXCEPTION_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls `call(context)`. When an exception leaves it: catches that, writes its
 * text with a NUL into `text`, cut to `size` bytes, and returns false. */
typedef bool (*cascade_guard_fn)(void (*call)(void *context), void *context,
                                 char *text, size_t size);

/* cascade_engine_register() of a node whose functions are called by `guard`;
 * NULL: directly. For bindings to languages that have exceptions. */
CASCADE_API cascade_err cascade_engine_register_guarded(
    cascade_engine *engine, const char *name, cascade_node_fn fn, void *user,
    const cascade_node_options *options, cascade_guard_fn guard);

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && defined(__cpp_exceptions)

#include <cstdio>
#include <exception>
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

inline bool
cascade_guard(void (*call)(void *context), void *context, char *text,
              size_t size)
{
    try {
        call(context);
        return true;
    }
#if defined(__GLIBCXX__)
    catch (abi::__forced_unwind &) {
        throw;
    }
#endif
    catch (const std::exception &e) {
        (void)std::snprintf(text, size, "%s", e.what());
    } catch (...) {
        (void)std::snprintf(text, size, "it is no std::exception");
    }
    return false;
}

inline cascade_err
cascade_engine_register(cascade_engine *engine, const char *name,
                        cascade_node_fn fn, void *user,
                        const cascade_node_options *options)
{
    return cascade_engine_register_guarded(engine, name, fn, user, options,
                                           cascade_guard);
}

#endif /* exceptions */

#endif
