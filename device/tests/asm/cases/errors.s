# Errors carry line and column of the text, through macros, and one does not hide the next.
    add $m1, $m2, 70000
    nop ; foo $m1 ; add $m1, $m2
    setzi $m0, undefined_local_1f + 2f
#define BAD(x) add $m1, $m2, x
    BAD(99999)
.macro inner v
    cmpult $m0, $m0, \v
.endm
.macro outer v
    inner \v
.endm
    outer -1
    { add $m1, $m2, $m3 ; setzi $m1, 4 }
    { setzi $a0, 1 ; setzi $a1, 1 }
    { nop ; nop_typo }
    { nop ; { fnop }
}
    .byte 256
    .align 3
    .unknown
    .long (1 + 2
    .ascii "open
label: nop
label: nop
.set $m0, 3
    put $INCOMING_MUX, $m0
    .long 1 / 0
    bri target
.set target, 6
#include "missing.h"
.if later
.endif
.endif
later = 1
    mov $a0, $m0
    ldconst $m0, 1 << 33
    rpt $m0, 99999
    .org 0
#> errors.s:2:19: error: immediate 70000 out of range -32768 .. 32767
#> errors.s:3:11: error: unknown mnemonic `foo`
#> errors.s:3:21: error: `add` takes 3 operands, found 2
#> errors.s:4:5: error: neither a number nor symbol + constant nor a difference within one section
#> errors.s:6:9: error: immediate 99999 out of range -32768 .. 32767
#> errors.s:8:22: error: immediate -1 out of range 0 .. 65535
#>   in macro `inner` at errors.s:11:5
#>   in macro `outer` at errors.s:13:5
#> errors.s:14:27: error: `setzi` is a main-lane instruction in the second slot
#> errors.s:15:7: error: `setzi` is an aux-lane instruction in the first slot
#> errors.s:16:13: error: unknown mnemonic `nop_typo`
#> errors.s:17:13: error: bundle inside a bundle
#> errors.s:18:1: error: end of a bundle without its start
#> errors.s:19:11: error: value 256 does not fit 1 bytes
#> errors.s:20:5: error: alignment 3 is no power of two up to 2^20
#> errors.s:21:5: error: unknown directive `.unknown`
#> errors.s:22:17: error: `)` expected, found the end of the statement
#> errors.s:23:12: error: string is not closed
#> errors.s:25:1: error: `label` is already defined at errors.s:24:1
#> errors.s:26:6: error: `$m0` is a register
#> errors.s:27:9: error: $INCOMING_MUX is a register of the supervisor only
#> errors.s:28:13: error: division by zero
#> errors.s:29:5: error: address 0x6 is no multiple of 4
#> errors.s:31:1: error: cannot find include file `missing.h`
#> errors.s:32:5: error: `later` is not known at this line, a number is needed
#> errors.s:34:1: error: .endif without .if
#> errors.s:36:5: error: no move from a main to an arithmetic register: go through memory
#> errors.s:37:18: error: immediate 8589934592 is wider than 32 bits
#> errors.s:38:14: error: immediate 99999 out of range 0 .. 255
#> errors.s:39:5: error: cannot move back from 0x1c to 0x0
