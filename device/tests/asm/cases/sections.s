# Sections, alignment, data directives, symbols.
.globl entry, table
.weak maybe
.type entry, @function
.section .text.entry, "ax", @progbits
entry:
    br $m10
    .byte 1
    .p2align 3
.Lend:
.size entry, .Lend - entry
.data
table:
    .byte 1, -1, 'a', '\n'
    .half 0x1234, -2, 1.0h
    .short 3
    .long entry, table + 4, .Lend - entry, -1
    .quad 0x123456789abcdef0
    .ascii "ab\x41\101"
    .asciz "z\"", "y"
    .align 4
    .space 3, 0xaa
    .fill 2, 2, 0x1122
    .balign 8, 0xff
    .float 1.5, -2
    .zero 1
.type table, %object
.size table, . - table
.section .rodata.strings, "aMS", @progbits, 1
    .string "text"
.bss
buffer: .space 64
.pushsection .note.plain, "", @note
    .long 1
.popsection
tail:
.previous
    .byte 9
.set ABSOLUTE, 0x1000
.globl ABSOLUTE
alias = buffer + 8
.globl alias
#> section .text flags 0x6 align 1 size 0
#> section .text.entry flags 0x6 align 8 size 8
#>   0000a04301000000
#> section .data flags 0x3 align 8 size 65
#>   01ff610a3412feff003c0300000000000000000008000000fffffffff0debc9a
#>   78563412616241417a22007900000000aaaaaa22112211ff0000c03f000000c0
#>   00
#>   0xc type 4 entry +0
#>   0x10 type 4 table +4
#> section .rodata.strings flags 0x32 align 1 size 6
#>   746578740009
#> section .bss flags 0x3 align 1 size 64
#> section .note.plain flags 0x0 align 1 size 4
#>   01000000
#> symbol buffer local Unknown .bss 0x0 size 0
#> symbol tail local Unknown .bss 0x40 size 0
#> symbol entry global Text .text.entry 0x0 size 8
#> symbol table global Data .data 0x0 size 65
#> symbol ABSOLUTE global Unknown absolute 0x1000 size 0
#> symbol alias global Unknown .bss 0x8 size 0
