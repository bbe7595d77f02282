/* config.h: the process' defaults, cwrapjit.config. */
#pragma once

#include "base/choices.h"

typedef enum cwj_setting {
    CWJ_SETTING_OPTIMIZE,
    CWJ_SETTING_THREADS,
    CWJ_SETTING_COMPILER,
    CWJ_SETTING_PROCESSES,
    CWJ_SETTING_DEBUG,
    CWJ_SETTING_COMPILE_MEMORY,
    CWJ_NSETTINGS
} cwj_setting;

/* What is in force: the attribute where it was set, else the environment variable, else the
 * built-in one. A new reference, or NULL with an exception when the environment holds nonsense. */
PyObject *cwj_config_value(PyObject *config, cwj_setting which);
/* The same as choices.h has it: a number, or -1. */
int cwj_config_number(PyObject *config, cwj_setting which);
/* Before anything is compiled: tells tinyjit the limit in force. A bad number of processes is
 * refused here, too: in the background there is nobody to tell. 0, or -1 as above. */
int cwj_config_limit(PyObject *config);

/* Adds the type and its instance to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_config(PyObject *extension, cwj_module_state *state);
