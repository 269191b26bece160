# hex
# Assembler macros, repetitions, conditionals and set symbols.
.macro load reg, offset=0, base=$m2
    ld32 \reg, \base, $mzero, \offset
.endm
.macro pairs first:req, rest:vararg
    .set count, count + 1
    load $m\first
    .ifnb \rest
    pairs \rest
    .endif
.endm
.macro unique
label_\@\()_x:
    brnz $m0, label_\@\()_x
.endm
.set count, 0
    load $m1
    load $m1, 3
    load $m3, base=$m4
    load $m5 7
    pairs 1, 2, 3
    setzi $m0, count
    unique
    unique
.irp n, 1, 2, 3
    add $m\n, $m\n, \n
.endr
.irpc c, 45
    nop ; zero $m\c
.endr
.set i, 0
.rept 3
    setzi $m0, i ; i = i + 1
.endr
.if count == 3 && !(1 > 2)
    trap 3
.elseif 1
    trap 1
.else
    trap 0
.endif
.ifdef absent
    trap 1
.else
    trap 2
.endif
.ifndef TAMP_F16V4_E4_P1
    trap 1
.endif
.ifc a, b
    trap 1
.endif
.macro stop x
    .if \x
    trap 4
    .exitm
    .endif
    trap 5
.endm
    stop 1
    stop 0
    f16v4hihov4amp $a0:1, $a2:3, $a4:5, TAMP_F16V4_E4_P3
{
    nop
    fnop ;
}
#> 00f02101	ld32 $m1, $m2, $mzero, 0
#> 03f02101	ld32 $m1, $m2, $mzero, 3
#> 00f04301	ld32 $m3, $m4, $mzero, 0
#> 07f02501	ld32 $m5, $m2, $mzero, 7
#> 00f02101	ld32 $m1, $m2, $mzero, 0
#> 00f02201	ld32 $m2, $m2, $mzero, 0
#> 00f02301	ld32 $m3, $m2, $mzero, 0
#> 03000019	setzi $m0, count
#> 00000011	brnz $m0, label_10_x
#> 00000011	brnz $m0, label_11_x
#> 01001122	add $m1, $m1, 1
#> 02002222	add $m2, $m2, 2
#> 03003322	add $m3, $m3, 3
#> 0000e019	nop
#> 41f3f044	zero $m4
#> 0000e019	nop
#> 51f3f044	zero $m5
#> 00000019	setzi $m0, i
#> 01000019	setzi $m0, i
#> 02000019	setzi $m0, i
#> 03108041	trap 3
#> 02108041	trap 2
#> 04108041	trap 4
#> 05108041	trap 5
#> 4327405b	f16v4hihov4amp $a0:1, $a2:3, $a4:5, TAMP_F16V4_E4_P3
#> 0000e0990000d09a	{ nop ; fnop }
