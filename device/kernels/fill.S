// Zeros to 8-byte words.
//
// In (supervisor): $m2 destination, $m3 number of 8-byte words (0 .. 98298), $m10 return address, $m11 stack. Clobbers
//   $m0..$m9.
// Operands: 8-byte aligned, any memory. Nothing is written past the operand.
// Split: worker i takes words i, i + 6, ..
// Cycles: about 125 + 6 * ceil(words / 6); see `fill_64_cycles`, measured by the test `fill_cycle_formula`.
// Code: 100 bytes.
// Hazards: the repeat body is 8-byte aligned.

#include "tile.h"

.section .text.fill, "ax", @progbits
.supervisor

// Argument block of a worker, at its vertex base.
.set ARG_WORDS, 0            // words + 5
.set ARG_DESTINATION, 1
.set FRAME, 8

.globl fill_64
.type fill_64, @function
.p2align 2
fill_64:
    add $m11, $m11, -FRAME
    add $m3, $m3, 5
    setzi $m0, .Lfill_worker
    st32 $m2, $m11, $mzero, ARG_DESTINATION
    st32 $m3, $m11, $mzero, ARG_WORDS
    runall $m0, $m11, 0
    add $m11, $m11, FRAME
    sync SYNC_LOCAL
    br $m10
.size fill_64, . - fill_64

.worker
.p2align 3
.Lfill_worker:
    get $m3, $WSR
    and $m3, $m3, WORKER_ID_MASK
    ld32 $m2, $m13, $mzero, ARG_WORDS
    ld32 $m0, $m13, $mzero, ARG_DESTINATION
    sub $m2, $m2, $m3
    setzi $m4, SIXTH
    mul $m2, $m2, $m4
    shr $m2, $m2, SIXTH_SHIFT
    shl $m3, $m3, 3
    add $m0, $m0, $m3
    nop
    rpt $m2, (2f - 1f) / 8 - 1
1:
    { st64step $azeros, $mzero, $m0+=, 6 ; fnop }
2:
    exitz $mzero
