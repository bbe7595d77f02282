/* config.h: the defaults of the process, cwrapjit.config. */
#pragma once

#include "base/choices.h"

typedef enum cwj_setting {
    CWJ_SETTING_OPTIMIZE,
    CWJ_SETTING_THREADS,
    CWJ_SETTING_COMPILER,
    CWJ_SETTING_PROCESSES,
    CWJ_SETTING_DEBUG,
    CWJ_SETTING_COMPILE_MEMORY,
    CWJ_SETTING_MATH,
    CWJ_NSETTINGS
} cwj_setting;

/* Returns the value in effect: the assigned attribute, else the environment variable, else the built-in default. A new
 * reference, or NULL with an exception if the environment variable is invalid. */
PyObject *cwj_config_value(PyObject *config, cwj_setting which);
/* Returns the same as a number of choices.h, or -1 with an exception set. */
int cwj_config_number(PyObject *config, cwj_setting which);
/* Passes the memory limit to tinyjit; call this before each compilation. It also rejects an invalid number of
 * processes, because the background thread cannot raise. Returns 0, or -1 with an exception. */
int cwj_config_limit(PyObject *config);

/* Adds the type and its instance to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_config(PyObject *extension, cwj_module_state *state);
