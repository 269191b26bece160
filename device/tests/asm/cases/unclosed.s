# What is open at the end of the file.
.if 1
    { nop
.macro never
    nop
#> unclosed.s:2:1: error: .if without .endif
#> unclosed.s:3:5: error: bundle is not closed
#> unclosed.s:4:1: error: .macro without .endm
