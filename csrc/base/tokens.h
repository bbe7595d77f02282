/* tokens.h: tinyjit's lexer for the readers of C text in Python. */
#pragma once

#include "base/api.h"

PyDoc_STRVAR(cwj_tokens_doc,
             "tokens(text, /)\n--\n\n"
             "The tokens of a C text: kind, text, and where in the str each begins and ends.");
PyObject *cwj_tokens(PyObject *extension, PyObject *text);
