# hex
# Permissions: what is an error otherwise. Masked immediates keep their low bits, groups are rounded down.
.warn_on_invalid_bundles
    { setzi $a0, 1 ; setzi $a1, 1 }
.error_on_invalid_bundles
.allow_invalid_operands
    add $m0, $m0, 0x1ffff
    st64 $a1:2, $m2, 0
    ld2x64pace $a0:1, $a2:3, $m1:2+=, $m15, 16
.error_on_invalid_operands
.allow_invalid_execution_mode
    sync 3
    put $INCOMING_MUX, $m0
.error_on_invalid_execution_mode
.supervisor
    sync 3
    sendpicp 1, 2, 3, 0
    .long 5
#> 0100009a0100109a	{ setzi $a0, 1 ; setzi $a1, 1 }
#> ffff0022	add $m0, $m0, 0x1ffff
#> 00f0205f	st64 $a1:2, $m2, 0
#> 2000f046	ld2x64pace $a0:1, $a2:3, $m1:2+=, $m15, 16
#> 03008041	sync 3
#> a0800043	put $INCOMING_MUX, $m0
#> 03008041	sync 3
#> 130020f0	sendpicp 1, 2, 3, 0
