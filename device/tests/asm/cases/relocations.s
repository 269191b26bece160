# Every relocation that operands and data leave (assembler.md 10); a bundle has that of its aux half at +4.
.supervisor
.text
    setzi $m0, outside + 4
    call $m10, outside
    bri here
    brnz $m3, here + 4
    run $m0, $m1, outside
    run $m0, $m1, here
    run $m0, $m1, 5
    cmpult $m0, $m1, outside
.set LATER, 0x1000
    bri LATER
    bri after_its_use
.set after_its_use, 0x1000
    run $m0, $m1, known
.set known, 0x4c010
.worker
    .p2align 3
    nop
    rpt $m0, outside
    { setzi $m0, here ; setzi $a0, outside }
here:
    nop
.data
    .byte outside
    .half outside
    .long outside, here
    .quad outside - 4
    .half (outside + 4)@relative@16@s2
    .long outside@abs18@s2, outside@abs19@s2, outside@abs@21
    .half 0, 0, 0
    .reloc . - 6, R_COLOSSUS_16_S3, outside
    .reloc . - 4, R_COLOSSUS_16_S4, outside
    .reloc . - 2, R_COLOSSUS_16_S5, outside
#> section .text flags 0x6 align 8 size 68
#>   000000190000a01800008040000030110010001400100014051000140000102a
#>   0010804000048040001000140000e0190000e01900a00043000000990000009a
#>   0000e019
#>   0x0 type 3 outside +4
#>   0x4 type 8 outside +0
#>   0x8 type 8 .text +64
#>   0xc type 8 .text +68
#>   0x10 type 9 outside +0
#>   0x14 type 9 .text +64
#>   0x1c type 2 outside +0
#>   0x28 type 9 absolute +311312
#>   0x34 type 1 outside +0
#>   0x38 type 3 .text +64
#>   0x3c type 3 outside +0
#> section .data flags 0x3 align 1 size 39
#>   0000000000000000000000000000000000000000000000000000000000000000
#>   00000000000000
#>   0x0 type 1 outside +0
#>   0x1 type 2 outside +0
#>   0x3 type 4 outside +0
#>   0x7 type 4 .text +64
#>   0xb type 5 outside -4
#>   0x13 type 6 outside +4
#>   0x15 type 7 outside +0
#>   0x19 type 8 outside +0
#>   0x1d type 17 outside +0
#>   0x21 type 14 outside +0
#>   0x23 type 15 outside +0
#>   0x25 type 16 outside +0
#> symbol here local Unknown .text 0x40 size 0
#> symbol LATER local Unknown absolute 0x1000 size 0
#> symbol after_its_use local Unknown absolute 0x1000 size 0
#> symbol known local Unknown absolute 0x4c010 size 0
#> symbol outside global Unknown undefined 0x0 size 0
