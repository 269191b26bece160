# `.allow_optimizations`: a repeat filled up by `fnop` becomes solo where its body would be misaligned, and halves written
# in the wrong order are exchanged.
.allow_optimizations
    nop
    { rpt $m0, 0 ; fnop }
    { fnop ; nop }
#> section .text flags 0x6 align 8 size 16
#>   0000e01900a000430000e0990000d09a
