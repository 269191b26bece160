# hex
// The C preprocessor: macros of both kinds, pasting, conditionals, continuation, includes.
#define ACC m4
#define ADD(d, s, n) add d, s, n
#define TWICE(x) x ; x
#define JOIN(a, b) a##b
#define OUTER(a) JOIN(ra, a)
#define ra1 7
.set SELF, 2
#define SELF SELF + 1
#define BOTH(first, ...) first, __VA_ARGS__
#define LONG(n) \
    add $m1, $m1, n ; \
    add $m2, $m2, n
#if defined(FROM_OUTSIDE) && FROM_OUTSIDE > 6
    ADD($m0, $ACC, 1) // a comment; not a statement
#elif 1
    bad
#else
    bad
#endif
#ifndef ABSENT
    TWICE(nop) /* over
    several lines */
#endif
#ifdef ABSENT
    bad
# error this is not read
#endif
    setzi $m0, OUTER(1)
    LONG(9)
    ADD($m1,
        $m2,
        3)
    add BOTH($m0, $m1, 4)
    setzi $m0, SELF
#include "include/constants.h"
    setzi $m0, INCLUDED
    .include "include/constants.h"
    # plain comments don't matter; neither do {braces} "or quotes
    setzi $m0, 'a' ; setzi $m1, ';' # the end
#undef ACC
.set ACC, 3
    setzi $m0, ACC
#> 01004022	add $m0, $m4, 1
#> 0000e019	nop
#> 0000e019	nop
#> 07000019	setzi $m0, 7
#> 09001122	add $m1, $m1, 9
#> 09002222	add $m2, $m2, 9
#> 03002122	add $m1, $m2, 3
#> 04001022	add $m0, $m1,4
#> 03000019	setzi $m0, SELF + 1
#> 07108041	trap 7
#> 23010019	setzi $m0, 0x123
#> 07108041	trap 7
#> 61000019	setzi $m0, 'a'
#> 3b001019	setzi $m1, ';'
#> 03000019	setzi $m0, ACC
