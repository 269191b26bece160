# Sources that would never end: each stops with an error, the limit of expansions last.
.rept 100000000
    nop
.endr
.set first, second
.set second, first
    .long first
    .space 0x7fffffff
#define A B
#define B A
    .long A
#define E0 1 + 1
#define E1 E0 + E0 + E0 + E0 + E0 + E0 + E0 + E0 + E0 + E0
#define E2 E1 + E1 + E1 + E1 + E1 + E1 + E1 + E1 + E1 + E1
#define E3 E2 + E2 + E2 + E2 + E2 + E2 + E2 + E2 + E2 + E2
#define E4 E3 + E3 + E3 + E3 + E3 + E3 + E3 + E3 + E3 + E3
#define E5 E4 + E4 + E4 + E4 + E4 + E4 + E4 + E4 + E4 + E4
    .long E5
.macro forever
    forever
.endm
    forever
    not_read
#> loops.s:2:1: error: .rept of 100000000 is out of range
#> loops.s:7:11: error: `second` is set to itself or through too many symbols
#> loops.s:8:5: error: section .text is larger than 16777216 bytes
#> loops.s:18:11: error: macro expansion is too large
#> loops.s:20:5: error: expansions are nested more than 100 deep
#>   in macro `forever` at loops.s:20:5
#>   in macro `forever` at loops.s:20:5
#>   in macro `forever` at loops.s:20:5
#>   in macro `forever` at loops.s:20:5
#>   in macro `forever` at loops.s:20:5
#>   ...
