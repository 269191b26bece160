// F16 matrix product on the AMP: out = left x right (`gemm_f16_initialise`), out += left x right (`gemm_f16_accumulate`).
//
// In (supervisor): $m2 out, $m3 left, $m4 right, $m5 rows (1 .. 16383), $m6 K groups of 16 (>= 1), $m7 column groups of
//   16 (>= 1), $m10 return address, $m11 stack. Clobbers $m0..$m9; workers keep their state in $m0..$m11 and $a0..$a7.
// Operands: out and left in AMP left order, panel stride 32 * rows bytes; right in AMP right order (512-byte blocks,
//   all K groups of a column group one after another). Everything 32-byte aligned. Out and right in interleaved
//   memory; left in another memory element (region 0) or pair (region 1) than out. No padding or access tail: nothing
//   is read or written past the operands.
// Split: contiguous rows; worker i has rows / 6 of them, and one more when i < rows mod 6 (later workers start later);
//   a worker without rows exits at once.
// Order: columns outer, K inner. Partials are F16 and rounded once per K group of 16; within a group F32.
// Cycles: with n = ceil(rows / 6), per panel (one K group of one column group) about 60 clocks for the wait, 32 coefficient
//   loads, the start and the stagger of the workers, and 6 * (4 n + 13) clocks of the busiest worker; see
//   `gemm_f16_cycles`, measured by the tests `gemm_cycle_formula` and `gemm_performance_gate`.
// Code: 1,404 bytes.
// Hazards: paced loads and stores of one bundle must hit different elements. The partial loaded and the result
//   stored are 11 atoms of 8 bytes apart (odd: the two halves of a pair). The AMP reads its operands as they were
//   before the bundle, the paced store stores the value before both the load and the AMP write it. Coefficients
//   are only written while no worker runs. The repeat bodies are 8-byte aligned.
//
// Steps of a worker with n rows (kernel-notes 1): step s multiplies x atom s with phase s mod 4, feeds partial atom s + 4,
// and yields result atom s - 4; its bundle loads x atom s + 1 and stores result atom s - 5. Even steps load into $a0:3
// and send $a4:5 through the AMP, odd steps the other way round.

#include "tile.h"

.section .text.gemm_f16, "ax", @progbits
.supervisor

// One quarter of a panel: eight coefficient slots of each AMP set.
.macro coefficients first
    ld128putcs \first
    ld128putcs \first + 2
    ld128putcs \first + 4
    ld128putcs \first + 6
    ld128putcs \first + 32
    ld128putcs \first + 34
    ld128putcs \first + 36
    ld128putcs \first + 38
.endm

// Argument block of a worker, at its vertex base.
.set ARG_QUOTIENT, 0         // rows / 6
.set ARG_REMAINDER, 1        // rows mod 6
.set ARG_STRIDE, 2           // bytes of a panel
.set ARG_OUT, 3
.set ARG_LEFT, 4
.set FRAME, 24

.globl gemm_f16_accumulate
.type gemm_f16_accumulate, @function
.p2align 2
gemm_f16_accumulate:
    setzi $m8, .Laccumulate_first
    setzi $m9, .Laccumulate_column
    bri .Lcall

.globl gemm_f16_initialise
.type gemm_f16_initialise, @function
gemm_f16_initialise:
    setzi $m8, .Linitialise_first
    setzi $m9, .Linitialise_column
.Lcall:
    // The divisions stand between the coefficients of the first panel, which hide their latency. $m0 K groups to come,
    // $m4 entry of the K groups after the first, $m6 K groups - 1, $m7 column groups to come, $m8 next entry,
    // $m9 entry of a further column group.
    setzi $m0, SIXTH
    put $CCCSLOAD, $m4
    add $m11, $m11, -FRAME
    // F16 products must not be scaled; an FP8 product before this one may have left a scale.
    put $FP_ISCL, $mzero
    put $FP_INFMT, $mzero
    add $m6, $m6, -1
    add $m7, $m7, -1
    mul $m0, $m5, $m0
    shl $m1, $m5, 5
    coefficients 0
    shr $m0, $m0, SIXTH_SHIFT
    st32 $m2, $m11, $mzero, ARG_OUT
    st32 $m3, $m11, $mzero, ARG_LEFT
    st32 $m1, $m11, $mzero, ARG_STRIDE
    // With 18 rows every worker has three or more and need not look for its code.
    setzi $m4, .Laccumulate_next
    setzi $m3, .Laccumulate_many
    cmpult $m2, $m5, 18
    coefficients 8
    mul $m1, $m0, 6
    st32 $m0, $m11, $mzero, ARG_QUOTIENT
    coefficients 16
    sub $m1, $m5, $m1
    movz $m4, $m2, $m3
    mov $m0, $m6
    coefficients 24
    st32 $m1, $m11, $mzero, ARG_REMAINDER
    runall $m8, $m11, 0
    bri .Lstarted
.Lpanel:
    sync SYNC_LOCAL
    // 16 channels of 16 coefficients, channel after channel in memory, to the slots that drain in natural column order.
    coefficients 0
    coefficients 8
    coefficients 16
    coefficients 24
    runall $m8, $m11, 0
.Lstarted:
    mov $m8, $m4
    brnzdec $m0, .Lpanel
    mov $m8, $m9
    mov $m0, $m6
    brnzdec $m7, .Lpanel
    add $m11, $m11, FRAME
    sync SYNC_LOCAL
    br $m10
.size gemm_f16_accumulate, . - gemm_f16_accumulate

.worker

// State of a worker from panel to panel:
//   $m0 x of the current panel, $m1 out of the current column group, $m2:3 packed addresses, $m4 rows - 3, $m5 panel
//   stride, $m6 x of K group 0 + 48, $m7 rows - 2, $m8 x of K group 0, $m9 and $m10 code for this number of rows,
//   $m11 out + 40.
.macro set_up
    { get $m2, $WSR ; setzi $a0, CLEAR_ACCUMULATORS }
    { and $m2, $m2, WORKER_ID_MASK ; uput $FP_CLR, $a0 }
    ld32 $m3, $m13, $mzero, ARG_QUOTIENT
    ld32 $m4, $m13, $mzero, ARG_REMAINDER
    ld32 $m5, $m13, $mzero, ARG_STRIDE
    ld32 $m1, $m13, $mzero, ARG_OUT
    ld32 $m8, $m13, $mzero, ARG_LEFT
    mul $m6, $m3, $m2
    cmpult $m7, $m2, $m4
    add $m3, $m3, $m7
    min $m2, $m2, $m4
    add $m6, $m6, $m2
    shl $m6, $m6, 5
    add $m1, $m1, $m6
    add $m8, $m8, $m6
    add $m6, $m8, 48
    add $m11, $m1, 40
    min $m4, $m3, 3
    setzi $m2, .Linitialise_rows
    ld32 $m9, $m2, $mzero, $m4
    setzi $m2, .Laccumulate_rows
    ld32 $m10, $m2, $mzero, $m4
    add $m4, $m3, -3
    add $m7, $m3, -2
.endm

.p2align 3
.Linitialise_first:
    set_up
    mov $m0, $m8
    tapack $m2:3, $m6, $mzero, $m1
    br $m9
.Linitialise_column:
    add $m1, $m1, $m5
    add $m11, $m11, $m5
    mov $m0, $m8
    tapack $m2:3, $m6, $mzero, $m1
    br $m9

// The code of an accumulated panel begins with the step to its x: here back from K group 0.
.p2align 3
.Laccumulate_first:
    set_up
    sub $m0, $m8, $m5
    br $m10
.Laccumulate_column:
    add $m1, $m1, $m5
    add $m11, $m11, $m5
    sub $m0, $m8, $m5
.Laccumulate_next:
    br $m10

// Code by number of rows: 0, 1, 2, 3 or more.
.p2align 2
.Linitialise_rows:
    .long .Lidle, .Linitialise_1, .Linitialise_many, .Linitialise_many
.Laccumulate_rows:
    .long .Lidle, .Laccumulate_1, .Laccumulate_2, .Laccumulate_many

// The last seven atoms to come: two x atoms are still to be loaded, then the AMP drains. Steps 4n - 3 .. 4n + 4.
.macro drain
    { ldst64pace $a4:5, $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $azeros, TAMP_F16V4_E4_P1 }
    { ldst64pace $a0:1, $a0:1, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P2 }
    { st64pace $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $azeros, TAMP_F16V4_E4_P3 }
    { st64pace $a0:1, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $azeros, $azeros, TAMP_F16V4_E4_P0 }
    { st64pace $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $azeros, $azeros, TAMP_F16V4_E4_P1 }
    { st64pace $a0:1, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $azeros, $azeros, TAMP_F16V4_E4_P2 }
    { st64pace $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $azeros, $azeros, TAMP_F16V4_E4_P3 }
    st64pace $a0:1, $m2:3+=, $mzero, 0
    exitz $mzero
.endm

// Steps 0 .. 8 of a single row: x atom 0 is in $a4:5, its partials are in the AMP.
.macro single_row
    { ld64 $a0:1, $m0, $mzero, 1 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P0 }
    { ld64 $a4:5, $m0, $mzero, 2 ; f16v4hihov4amp $a0:1, $a0:1, $azeros, TAMP_F16V4_E4_P1 }
    { ld64 $a0:1, $m0, $mzero, 3 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P2 }
    { nop ; f16v4hihov4amp $a0:1, $a0:1, $azeros, TAMP_F16V4_E4_P3 }
    { nop ; f16v4hihov4amp $a4:5, $azeros, $azeros, TAMP_F16V4_E4_P0 }
    { st64 $a4:5, $m1, $mzero, 0 ; f16v4hihov4amp $a0:1, $azeros, $azeros, TAMP_F16V4_E4_P1 }
    { st64 $a0:1, $m1, $mzero, 1 ; f16v4hihov4amp $a4:5, $azeros, $azeros, TAMP_F16V4_E4_P2 }
    { st64 $a4:5, $m1, $mzero, 2 ; f16v4hihov4amp $a0:1, $azeros, $azeros, TAMP_F16V4_E4_P3 }
    st64 $a0:1, $m1, $mzero, 3
    exitz $mzero
.endm

// Two or more rows from zero. Steps -1 .. 4 load x only, at plain addresses; the packed address starts at atom 6.
.p2align 3
.Linitialise_many:
    ld64 $a4:5, $m8, $mzero, 0
    { ld64 $a0:1, $m8, $mzero, 1 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P0 }
    { ld64 $a4:5, $m8, $mzero, 2 ; f16v4hihov4amp $a0:1, $a0:1, $azeros, TAMP_F16V4_E4_P1 }
    { ld64 $a0:1, $m8, $mzero, 3 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P2 }
    { ld64 $a4:5, $m8, $mzero, 4 ; f16v4hihov4amp $a0:1, $a0:1, $azeros, TAMP_F16V4_E4_P3 }
    { ld64 $a0:1, $m8, $mzero, 5 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P0 }
    rpt $m7, (2f - 1f) / 8 - 1
1:
    { ldst64pace $a4:5, $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $azeros, TAMP_F16V4_E4_P1 }
    { ldst64pace $a0:1, $a0:1, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P2 }
    { ldst64pace $a4:5, $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $azeros, TAMP_F16V4_E4_P3 }
    { ldst64pace $a0:1, $a0:1, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P0 }
2:
    drain

.Linitialise_1:
    ld64 $a4:5, $m0, $mzero, 0
    single_row

// A worker without rows; its word puts the repeat below at 4 modulo 8.
.p2align 3
.Lidle:
    exitz $mzero

// Three or more rows onto the partials in out. The first five partials come from plain addresses, two at a time, which
// leaves room to pack the addresses in step -3; from step -1 on the packed one of the partials starts at atom 5.
.Laccumulate_many:
    add $m0, $m0, $m5
    ld128 $a0:3, $m1, $mzero, 0
    { ld128 $a4:7, $m1, $mzero, 1 ; f16v4hihov4amp $azeros, $azeros, $a0:1, TAMP_F16V4_E4_P0 }
    { tapack $m2:3, $m0, $m11, $m1 ; f16v4hihov4amp $azeros, $azeros, $a2:3, TAMP_F16V4_E4_P1 }
    { ld64 $a2:3, $m1, $mzero, 4 ; f16v4hihov4amp $azeros, $azeros, $a4:5, TAMP_F16V4_E4_P2 }
    { ld2x64pace $a4:5, $a6:7, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $azeros, $a6:7, TAMP_F16V4_E4_P3 }
    { ld2x64pace $a0:1, $a2:3, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $a2:3, TAMP_F16V4_E4_P0 }
    { ld2x64pace $a4:5, $a6:7, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $a6:7, TAMP_F16V4_E4_P1 }
    { ld2x64pace $a0:1, $a2:3, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $a2:3, TAMP_F16V4_E4_P2 }
    { ld2x64pace $a4:5, $a6:7, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $a6:7, TAMP_F16V4_E4_P3 }
    { ld2x64pace $a0:1, $a2:3, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $a2:3, TAMP_F16V4_E4_P0 }
    rpt $m4, (2f - 1f) / 8 - 1
1:
    { ld2xst64pace $a4:7, $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $a6:7, TAMP_F16V4_E4_P1 }
    { ld2xst64pace $a0:3, $a0:1, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $a2:3, TAMP_F16V4_E4_P2 }
    { ld2xst64pace $a4:7, $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $a6:7, TAMP_F16V4_E4_P3 }
    { ld2xst64pace $a0:3, $a0:1, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $a2:3, TAMP_F16V4_E4_P0 }
2:
    { ld2xst64pace $a4:7, $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $a6:7, TAMP_F16V4_E4_P1 }
    { ldst64pace $a0:1, $a0:1, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $a2:3, TAMP_F16V4_E4_P2 }
    { ldst64pace $a4:5, $a4:5, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $a0:1, $a6:7, TAMP_F16V4_E4_P3 }
    { ldst64pace $a0:1, $a0:1, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P0 }
    drain

// Two rows onto partials. The last partial leaves its address on the atom, for the discarded loads beside x atoms 3 to 5.
.Laccumulate_2:
    add $m0, $m0, $m5
    ld128 $a0:3, $m1, $mzero, 0
    { ld128 $a4:7, $m1, $mzero, 1 ; f16v4hihov4amp $azeros, $azeros, $a0:1, TAMP_F16V4_E4_P0 }
    { tapack $m2:3, $m0, $m11, $m1 ; f16v4hihov4amp $azeros, $azeros, $a2:3, TAMP_F16V4_E4_P1 }
    { ld64 $a2:3, $m1, $mzero, 4 ; f16v4hihov4amp $azeros, $azeros, $a4:5, TAMP_F16V4_E4_P2 }
    { ld2x64pace $a4:5, $a6:7, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a0:1, $azeros, $a6:7, TAMP_F16V4_E4_P3 }
    { ld2x64pace $a0:1, $a2:3, $m2:3+=, $mzero, 0 ; f16v4hihov4amp $a4:5, $a4:5, $a2:3, TAMP_F16V4_E4_P0 }
    { ld2x64pace $a4:5, $a6:7, $m2:3+=, $mzero, 0b1100 ; f16v4hihov4amp $a0:1, $a0:1, $a6:7, TAMP_F16V4_E4_P1 }
    { ld2x64pace $a0:1, $azeros, $m2:3+=, $mzero, 0b1100 ; f16v4hihov4amp $a4:5, $a4:5, $a2:3, TAMP_F16V4_E4_P2 }
    { ld2x64pace $a4:5, $azeros, $m2:3+=, $mzero, 0b1100 ; f16v4hihov4amp $a0:1, $a0:1, $a6:7, TAMP_F16V4_E4_P3 }
    { ld2x64pace $a0:1, $azeros, $m2:3+=, $mzero, 0b1100 ; f16v4hihov4amp $a4:5, $a4:5, $azeros, TAMP_F16V4_E4_P0 }
    drain

// One row onto partials, at plain addresses.
.Laccumulate_1:
    ld128 $a0:3, $m1, $mzero, 0
    { ld128 $a4:7, $m1, $mzero, 1 ; f16v4hihov4amp $azeros, $azeros, $a0:1, TAMP_F16V4_E4_P0 }
    { add $m0, $m0, $m5 ; f16v4hihov4amp $azeros, $azeros, $a2:3, TAMP_F16V4_E4_P1 }
    { nop ; f16v4hihov4amp $azeros, $azeros, $a4:5, TAMP_F16V4_E4_P2 }
    { ld64 $a4:5, $m0, $mzero, 0 ; f16v4hihov4amp $azeros, $azeros, $a6:7, TAMP_F16V4_E4_P3 }
    single_row
