/* travel.h: describes functions and creates them again, for cwrapjit/_travel.py. */
#pragma once

#include "base/state.h"

/* Functions of the extension module: build_of(), definition_of(), module_again(). */
extern PyMethodDef cwj_travel_functions[];
