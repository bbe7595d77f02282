/* complex.h: says why there is none. */
#error "no <complex.h>: libtcc has no _Complex; use npy_complex128 {real, imag} and the like"
