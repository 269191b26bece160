# Hardware repeats: label expressions, alignment, a body of bundles only. Words by hand from the patterns of
# `rpt_mmmn_zi` and `rpt_mmmn_zi_zi` in worker.tsv.
.section .text.repeat, "ax", @progbits
.p2align 3
    nop                                                      # = 0000e019
    rpt $m3, (2f - 1f) / 8 - 1                               # = 01a03043
1:
    { ld64step $a0:1, $mzero, $m0+=, 1 ; f32v2add $a2:3, $a0:1, $a4:5 } # = 0102f09e234000d8
    { nop ; fnop }                                           # = 0000e0990000d09a
2:
    { rpt 100, 0 ; fnop }                                    # = 006400c00000d09a
    { nop ; fnop }                                           # = 0000e0990000d09a
