# Every rule of a repeat body, each broken once.
.section .text.a, "ax"
    nop
    rpt $m0, 0
    { nop ; fnop }
.section .text.b, "ax"
.align 8
    rpt $m0, 0
    nop
.section .text.c, "ax"
.align 8
    nop
    rpt $m0, 0
    nop
    nop
.section .text.d, "ax"
.align 8
    nop
    rpt $m0, 1
    { nop ; fnop }
    { get $m0, 1 ; fnop }
.section .text.e, "ax"
.align 8
    nop
    rpt $m0, 0
    .long 1, 2
.section .text.f, "ax"
.align 8
    nop
    rpt $m0, 256
.section .text.g, "ax"
.align 8
    nop
    rpt $m0, (2f - 1f) / 8 - 1
1:
    .fill 300, 8
2:
#> repeat_errors.s:4:5: error: section .text.a of a repeat must be aligned to 8
#> repeat_errors.s:8:5: error: body of the repeat begins at offset 0x4, which is no multiple of 8
#> repeat_errors.s:14:5: error: instruction outside a bundle in the body of a repeat
#> repeat_errors.s:21:5: error: control or system instruction in the body of a repeat
#> repeat_errors.s:26:5: error: data in the body of a repeat
#> repeat_errors.s:30:14: error: immediate 256 out of range 0 .. 255
#> repeat_errors.s:34:5: error: immediate 299 out of range 0 .. 255
