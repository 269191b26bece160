# Register names and groups (assembler.md 2), control registers by name. By hand: `st64 pair, $m2, 0` is 0x5f20f000 + pair
# at 7:4, `add $mD, $mS, 1` is 0x22000001 + S at 23:20 + D at 19:16, `put n, $m0` 0x43008000 + n, `uput` by pattern.
    st64 $ap5, $m2, 0            # = a0f0205f
    st64 $azeros, $m2, 0         # = e0f0205f
    add $bp, $fp, 1              # = 01009822
    add $lr, $sp, 1              # = 0100ba22
    add $m0, $mworker_base, 1    # = 0100c022
    add $m1, $mvertex_base, 1    # = 0100d122
    add $mzero, $m14, 1          # = 0100ef22
    get $m5, $WSR                # = 01000541
    put $FP_CLR, $a4             # = 01804051
    get $a4, $FP_CTL             # = 02080451
