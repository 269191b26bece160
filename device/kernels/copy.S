// Copy of 8-byte words inside a tile.
//
// In (supervisor): $m2 destination, $m3 source, $m4 number of 8-byte words (1 .. 98298), $m10 return address, $m11 stack.
//   Clobbers $m0..$m9.
// `copy_64`: any memory. `copy_64_far`: source and destination must share no memory element (16 KiB below 0x80000, 32 KiB
//   from there up), since its loop loads and stores in one bundle.
// Operands: 8-byte aligned, not overlapping. Nothing is read or written past the operands.
// Split: worker i takes words i, i + 6, ..; a worker without words exits at once.
// Cycles: about 137 + 12 * ceil(words / 6), far 179 + 6 * ceil(words / 6); see `copy_64_cycles` and
//   `copy_64_far_cycles`, measured by the test `copy_cycle_formula`.
// Code: 224 bytes.
// Hazards: paced accesses of `copy_64_far` must hit different elements. The repeat bodies are 8-byte aligned.

#include "tile.h"

.section .text.copy, "ax", @progbits
.supervisor

// Argument block of a worker, at its vertex base.
.set ARG_WORDS, 0            // words + 5
.set ARG_DESTINATION, 1
.set ARG_SOURCE, 2
.set FRAME, 16

.globl copy_64_far
.type copy_64_far, @function
.p2align 2
copy_64_far:
    setzi $m0, .Lfar_worker
    bri .Lcall

.globl copy_64
.type copy_64, @function
copy_64:
    setzi $m0, .Lcopy_worker
.Lcall:
    add $m11, $m11, -FRAME
    add $m4, $m4, 5
    st32 $m2, $m11, $mzero, ARG_DESTINATION
    st32 $m3, $m11, $mzero, ARG_SOURCE
    st32 $m4, $m11, $mzero, ARG_WORDS
    runall $m0, $m11, 0
    add $m11, $m11, FRAME
    sync SYNC_LOCAL
    br $m10
.size copy_64, . - copy_64

.worker
// $m0 destination, $m1 source, $m2 words of this worker.
.macro set_up
    get $m3, $WSR
    and $m3, $m3, WORKER_ID_MASK
    ld32 $m2, $m13, $mzero, ARG_WORDS
    ld32 $m0, $m13, $mzero, ARG_DESTINATION
    ld32 $m1, $m13, $mzero, ARG_SOURCE
    sub $m2, $m2, $m3
    setzi $m4, SIXTH
    mul $m2, $m2, $m4
    shr $m2, $m2, SIXTH_SHIFT
    shl $m3, $m3, 3
    add $m0, $m0, $m3
    add $m1, $m1, $m3
.endm

.p2align 3
    nop
.Lcopy_worker:
    set_up
    rpt $m2, (2f - 1f) / 8 - 1
1:
    { ld64step $a0:1, $mzero, $m1+=, 6 ; fnop }
    { st64step $a0:1, $mzero, $m0+=, 6 ; fnop }
2:
    exitz $mzero

.p2align 3
    nop
.Lfar_worker:
    set_up
    brz $m2, .Lfar_idle
    add $m2, $m2, -1
    tapack $m6:7, $m1, $mzero, $m0
    setzi $m3, 6
    ld64 $a0:1, $m1, $mzero, 0
    // The packed load address starts at the worker's second word.
    add $m6, $m6, 48
    rpt $m2, (2f - 1f) / 8 - 1
1:
    { ldst64pace $a0:1, $a0:1, $m6:7+=, $m3, 0b0101 ; fnop }
2:
    st64pace $a0:1, $m6:7+=, $m3, 1
.Lfar_idle:
    exitz $mzero
