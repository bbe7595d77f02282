typedef struct { double re, im; } cwj_z;
typedef struct { float re, im; } cwj_c;
typedef union cwj_slot {
    long long i; unsigned long long u; double d; float f; void *p; cwj_z z; cwj_c c;
    struct __attribute__((packed)) { long double v; } g; /* slots lie at multiples of 8 */
} cwj_slot;
void cwj_thunk_0(cwj_slot *s)
{
    s[0].d = ((double (*)(double, double))0x1000)(s[1].d, s[2].d);
}
void cwj_thunk_1(cwj_slot *s)
{
    ((void (*)(int, void *, void *))0x2000)((int)s[1].i, s[2].p, s[3].p);
}
struct cwj_struct_0 { double x; long n[2]; };
void cwj_thunk_2(cwj_slot *s)
{
    struct cwj_struct_0 cwj_1 = *(struct cwj_struct_0 *)s[1].p;
    int cwj_2 = (int)s[2].i;
    *(struct cwj_struct_0 *)s[0].p = ((struct cwj_struct_0 (*)(struct cwj_struct_0, int))0x3000)(cwj_1, cwj_2);
}
void cwj_thunk_3(cwj_slot *s)
{
    s[0].p = (void *)((void * (*)(cwj_c))0x4000)(s[1].c);
}
