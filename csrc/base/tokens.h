/* tokens.h: offers tinyjit's lexer to Python code that reads C text. */
#pragma once

#include "base/api.h"

PyDoc_STRVAR(cwj_tokens_doc,
             "tokens(text, /)\n--\n\n"
             "The tokens of a C text: kind, text, and where in the str each begins and ends.");
PyObject *cwj_tokens(PyObject *extension, PyObject *text);
