// The static runtime: start of a tile, its end, cycle samples, an empty call. The same bytes on every tile.
//
// `_start`: entered from the stub at 0x4c010 in the state that the loader leaves (exchange control 7). Waits for all
//   tiles of the chip and for the workers, sets the exchange up (incoming multiplexer 0x640, outgoing base 0), gives
//   each worker its scratch area and the supervisor a stack of its own ($m11), clears coefficients and formats, runs
//   the worker initialiser on all six workers, passes the first host sync and branches to the external `tile_program`.
// `complete`: branch to it; stores 1 to the completion word and ends the tile (a supervisor branch to address 0).
// `cycle_sample`: in $m2 address of a word, $m10 return address; stores the low word of the tile clock. Clobbers $m3.
// `empty_call`: in $m10 return address; all six workers start and exit. Clobbers $m0. The smallest kernel call, and a
//   barrier for workers.
// Split: the initialiser runs on every worker: zeroes $m0..$m11, $a0..$a7 and the accumulators, seeds its random numbers
//   with (tile + 1) * 8 + worker and draws 15 of them.
// Cycles: `empty_call` 53; see `call_overhead`, measured by the test `empty_call_overhead`; the start is not timed.
// Code: 308 bytes.
// Hazards: worker bases are only written while no worker runs. A value reaches the seed register through the worker's
//   scratch area, as no instruction moves a main register to an arithmetic one.
//
// Facts: runtime.md 2.1 to 2.3; semantics.md 1.3, 2.2, 2.3.

#include "tile.h"

.section .text.runtime, "ax", @progbits
.supervisor

.extern tile_program

.globl _start
.type _start, @function
.p2align 2
_start:
    sync SYNC_INTERNAL
    sync SYNC_LOCAL
    setzi $m0, MUX_EXCHANGE
    setzi $m1, WORKER_BASE
    setzi $m2, WORKER_BASE + WORKER_SCRATCH
    setzi $m3, WORKER_BASE + 2 * WORKER_SCRATCH
    setzi $m4, WORKER_BASE + 3 * WORKER_SCRATCH
    setzi $m5, WORKER_BASE + 4 * WORKER_SCRATCH
    setzi $m6, WORKER_BASE + 5 * WORKER_SCRATCH
    setzi $m7, CLEAR_COEFFICIENTS
    setzi $m11, SUPERVISOR_STACK
    put $INCOMING_MUX, $m0
    put $OUTGOING_BASE, $mzero
    put $WORKER0_BASE, $m1
    put $WORKER1_BASE, $m2
    put $WORKER2_BASE, $m3
    put $WORKER3_BASE, $m4
    put $WORKER4_BASE, $m5
    put $WORKER5_BASE, $m6
    put $CR, $m7
    // Round to nearest even, saturate, no exceptions; FP8 formats and scale neutral.
    put $FP_ICTL, $mzero
    put $FP_INFMT, $mzero
    put $FP_ISCL, $mzero
    get $m8, $TILE_ID
    add $m8, $m8, 1
    shl $m8, $m8, 3
    add $m11, $m11, -8
    st32 $m8, $m11, $mzero, 0
    setzi $m9, .Lworker_initialiser
    runall $m9, $m11, 0
    add $m11, $m11, 8
    sync SYNC_LOCAL
    setzi $m1, MUX_HOST
    put $INCOMING_MUX, $m1
    sync SYNC_HOST
    put $INCOMING_MUX, $m0
    bri tile_program
.size _start, . - _start

.globl complete
.type complete, @function
complete:
    setzi $m0, 1
    setzi $m1, COMPLETION
    st32 $m0, $m1, $mzero, 0
    bri 0
.size complete, . - complete

.globl cycle_sample
.type cycle_sample, @function
cycle_sample:
    get $m3, $SCOUNT_L
    st32 $m3, $m2, $mzero, 0
    br $m10
.size cycle_sample, . - cycle_sample

.globl empty_call
.type empty_call, @function
empty_call:
    setzi $m0, .Lworker_exit
    runall $m0, $m11, 0
    sync SYNC_LOCAL
    br $m10
.size empty_call, . - empty_call

.worker
.p2align 3
.Lworker_initialiser:
    ld32 $m0, $m13, $mzero, 0
    { get $m1, $WSR ; setzi $a0, CLEAR_ACCUMULATORS }
    { and $m1, $m1, WORKER_ID_MASK ; uput $FP_CLR, $a0 }
    or $m0, $m0, $m1
    st32 $m0, $m12, $mzero, 0
    ld32 $a0, $m12, $mzero, 0
    uput $PRNG_SEED, $a0
    rpt 15, (2f - 1f) / 8 - 1
1:
    { nop ; urand64 $a0:1 }
2:
    { zero $m0 ; zero $a0:1 }
    { zero $m1 ; zero $a2:3 }
    { zero $m2 ; zero $a4:5 }
    { zero $m3 ; zero $a6:7 }
    zero $m4
    zero $m5
    zero $m6
    zero $m7
    zero $m8
    zero $m9
    zero $m10
    zero $m11
.Lworker_exit:
    exitz $mzero
