/* config.h: the process' defaults, cwrapjit.config. */
#ifndef CWJ_CONFIG_H
#define CWJ_CONFIG_H

#include "options.h"

/* The default in force: the attribute where it was set, else the environment
 * variable, else the built-in one. -1 with an exception when the environment
 * holds nonsense. */
int cwj_config_optimize(PyObject *config);
int cwj_config_threads(PyObject *config);
int cwj_config_processes(PyObject *config);
/* The command line of the optimizing compiler, or None: what there is. A new
 * reference, NULL with an exception set. */
PyObject *cwj_config_compiler(PyObject *config);

#endif
