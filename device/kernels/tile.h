// Constants that the kernel sources share. The addresses are those of `device/src/memory/mod.rs`; a test compares them.

.set SYNC_ANS, 1             // every barrier promised by `sans` has been acknowledged
.set SYNC_LOCAL, 2           // no worker of this tile is active
.set SYNC_INTERNAL, 3        // all tiles of the chip
.set SYNC_HOST, 7            // all tiles and the host

.set MUX_HOST, 0x600         // incoming multiplexer: the host
.set MUX_EXCHANGE, 0x640     // incoming multiplexer: what the exchange rows select

.set COMPLETION, 0x58000     // word: 1 when the program of the tile has ended
.set WORKER_BASE, 0x580e0    // scratch area of worker 0, growing upward
.set WORKER_SCRATCH, 0x100   // bytes of one worker's scratch area
.set SUPERVISOR_STACK, 0x58800 // the supervisor's stack grows down from here

.set WORKER_ID_MASK, 7       // bits of $WSR that hold the worker number
.set CLEAR_ACCUMULATORS, 8   // bit of $FP_CLR that zeroes all accumulators of the worker
.set CLEAR_COEFFICIENTS, 4   // bit of $CR that zeroes all coefficients of the tile

// Sixths in fixed point: floor(n / 6) = n * SIXTH >> SIXTH_SHIFT for 0 <= n < 131072.
.set SIXTH, 43691
.set SIXTH_SHIFT, 18
