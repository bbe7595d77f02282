/* numpy/ufuncobject.h: says why there is none. */
#error "no <numpy/ufuncobject.h>: snippets cannot make ufuncs, and cwrapjit's functions broadcast"
