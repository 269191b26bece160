// Sum of partial results: out = own + received[0] + .. + received[n - 1], element by element.
//
// In (supervisor): $m2 out, $m3 own partial, $m4 first received partial, $m5 bytes from one received partial to the
//   next, $m6 number of 16-byte chunks (8 halves, < 98299), $m7 number of received partials (1 .. 65535), $m10 return
//   address, $m11 stack. Clobbers $m0..$m9.
// Operands: F16, 8-byte aligned, stride a multiple of 8, in any memory. Out may be the own partial; it may not
//   overlap the received ones. Nothing is read or written past the operands.
// Sums are F32 (own first, then received 0, 1, ..) and rounded to F16 once.
// Split: worker i takes chunks i, i + 6, ..; a worker without chunks exits at once.
// Cycles: about 219 + 6 * ceil(chunks / 6) * (2 * received + 7); see `reduce_add_f16_cycles`, measured by the test
//   `reduce_cycle_formula`.
// Code: 304 bytes.
// Hazards: the accumulate of a bundle reads its quad before the load of that bundle replaces the half. The repeat
//   bodies are 8-byte aligned. Four gina in a row drain the eight accumulators and leave zeros behind.

#include "tile.h"

.section .text.reduce_add_f16, "ax", @progbits
.supervisor

// Argument block of a worker, at its vertex base.
.set ARG_CHUNKS, 0           // chunks + 5
.set ARG_OUT, 1
.set ARG_OWN, 2
.set ARG_FIRST, 3
.set ARG_STRIDE, 4           // in 8-byte units
.set ARG_BACK, 5             // from past the last received partial to the worker's next chunk of the first
.set ARG_RECEIVED, 6
.set FRAME, 32

.globl reduce_add_f16
.type reduce_add_f16, @function
.p2align 2
reduce_add_f16:
    mul $m0, $m5, $m7
    add $m11, $m11, -FRAME
    setzi $m1, 96
    setzi $m8, .Lreduce_worker
    add $m6, $m6, 5
    shr $m5, $m5, 3
    sub $m0, $m1, $m0
    st32 $m2, $m11, $mzero, ARG_OUT
    st32 $m3, $m11, $mzero, ARG_OWN
    st32 $m4, $m11, $mzero, ARG_FIRST
    st32 $m7, $m11, $mzero, ARG_RECEIVED
    st32 $m6, $m11, $mzero, ARG_CHUNKS
    st32 $m5, $m11, $mzero, ARG_STRIDE
    st32 $m0, $m11, $mzero, ARG_BACK
    runall $m8, $m11, 0
    add $m11, $m11, FRAME
    sync SYNC_LOCAL
    br $m10
.size reduce_add_f16, . - reduce_add_f16

.worker
// $m0 out, $m1 own, $m2 received, $m3 stride, $m4 back, $m5 received partials, $m6 chunks to come, $m8 the constant 8.
.p2align 3
.Lreduce_worker:
    { get $m7, $WSR ; setzi $a0, CLEAR_ACCUMULATORS }
    { and $m7, $m7, WORKER_ID_MASK ; uput $FP_CLR, $a0 }
    ld32 $m6, $m13, $mzero, ARG_CHUNKS
    setzi $m8, SIXTH
    sub $m6, $m6, $m7
    mul $m6, $m6, $m8
    shr $m6, $m6, SIXTH_SHIFT
    brz $m6, .Lreduce_idle
    ld32 $m0, $m13, $mzero, ARG_OUT
    ld32 $m1, $m13, $mzero, ARG_OWN
    ld32 $m2, $m13, $mzero, ARG_FIRST
    ld32 $m3, $m13, $mzero, ARG_STRIDE
    ld32 $m4, $m13, $mzero, ARG_BACK
    ld32 $m5, $m13, $mzero, ARG_RECEIVED
    shl $m7, $m7, 4
    add $m0, $m0, $m7
    add $m1, $m1, $m7
    add $m2, $m2, $m7
    setzi $m8, 8
    add $m6, $m6, -1
    ld64step $a0:1, $mzero, $m1+=, 1
    ld64step $a2:3, $mzero, $m1+=, 11
    brz $m6, .Lreduce_last
    add $m6, $m6, -1
    bri .Lreduce_partials

// A chunk whose successor is fetched meanwhile. Its last pair is stored at the top of the next turn.
.p2align 3
.Lreduce_chunk:
    st64step $a6:7, $mzero, $m0+=, 11
.Lreduce_partials:
    rpt $m5, (2f - 1f) / 8 - 1
1:
    { ld64 $a0:1, $m2, $mzero, 0 ; f16v8acc $a0:3 }
    { ld64step $a2:3, $m8, $m2+=, $m3 ; fnop }
2:
    { ld64step $a0:1, $mzero, $m1+=, 1 ; f16v8acc $a0:3 }
    { ld64step $a2:3, $mzero, $m1+=, 11 ; f16v2gina $a4, $azero, 0 }
    { add $m2, $m2, $m4 ; f16v2gina $a5, $azero, 0 }
    { st64step $a4:5, $mzero, $m0+=, 1 ; f16v2gina $a6, $azero, 0 }
    { brnzdec $m6, .Lreduce_chunk ; f16v2gina $a7, $azero, 0 }
    st64step $a6:7, $mzero, $m0+=, 11

// The last chunk. Its repeat stands at 4 modulo 8, as the store before it begins there after whole bundles.
.Lreduce_last:
    rpt $m5, (2f - 1f) / 8 - 1
1:
    { ld64 $a0:1, $m2, $mzero, 0 ; f16v8acc $a0:3 }
    { ld64step $a2:3, $m8, $m2+=, $m3 ; fnop }
2:
    f16v8acc $a0:3
    f16v2gina $a4, $azero, 0
    f16v2gina $a5, $azero, 0
    { st64 $a4:5, $m0, $mzero, 0 ; f16v2gina $a6, $azero, 0 }
    f16v2gina $a7, $azero, 0
    st64 $a6:7, $m0, $mzero, 1
.Lreduce_idle:
    exitz $mzero
