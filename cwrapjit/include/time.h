/* time.h: ISO C's and POSIX's. Each type has glibc's guard, so that glibc's headers neither repeat it nor miss it. */
#ifndef _TIME_H
#define _TIME_H 1

#include "stddef.h"

#define CLOCKS_PER_SEC ((clock_t)1000000)
#define TIME_UTC 1
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID 3
#define CLOCK_MONOTONIC_RAW 4
#define CLOCK_REALTIME_COARSE 5
#define CLOCK_MONOTONIC_COARSE 6
#define CLOCK_BOOTTIME 7
#define TIMER_ABSTIME 1

#ifndef __clock_t_defined
#define __clock_t_defined 1
typedef long clock_t;
#endif
#ifndef __time_t_defined
#define __time_t_defined 1
typedef long time_t;
#endif
#ifndef __clockid_t_defined
#define __clockid_t_defined 1
typedef int __clockid_t, clockid_t;
#endif
#ifndef __timer_t_defined
#define __timer_t_defined 1
typedef void *timer_t;
#endif
#ifndef __pid_t_defined
#define __pid_t_defined
typedef int pid_t;
#endif
#ifndef _STRUCT_TIMESPEC
#define _STRUCT_TIMESPEC 1
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
#endif
#ifndef __itimerspec_defined
#define __itimerspec_defined 1
struct itimerspec {
    struct timespec it_interval, it_value;
};
#endif
#ifndef __struct_tm_defined
#define __struct_tm_defined 1
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long tm_gmtoff;
    const char *tm_zone;
};
#endif
struct sigevent;

clock_t clock(void);
time_t time(time_t *), mktime(struct tm *), timegm(struct tm *), timelocal(struct tm *);
double difftime(time_t, time_t);
size_t strftime(char *, size_t, const char *, const struct tm *);
char *strptime(const char *, const char *, struct tm *);
char *asctime(const struct tm *), *ctime(const time_t *), *asctime_r(const struct tm *, char *),
    *ctime_r(const time_t *, char *);
struct tm *gmtime(const time_t *), *localtime(const time_t *),
    *gmtime_r(const time_t *, struct tm *), *localtime_r(const time_t *, struct tm *);
int timespec_get(struct timespec *, int), nanosleep(const struct timespec *, struct timespec *),
    clock_gettime(clockid_t, struct timespec *), clock_settime(clockid_t, const struct timespec *),
    clock_getres(clockid_t, struct timespec *), clock_getcpuclockid(pid_t, clockid_t *),
    clock_nanosleep(clockid_t, int, const struct timespec *, struct timespec *);
int timer_create(clockid_t, struct sigevent *, timer_t *), timer_delete(timer_t),
    timer_settime(timer_t, int, const struct itimerspec *, struct itimerspec *),
    timer_gettime(timer_t, struct itimerspec *), timer_getoverrun(timer_t);
extern char *tzname[2];
extern long timezone;
extern int daylight;
void tzset(void);

#endif
