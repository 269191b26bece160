# Expected words: fields put into the pattern column of worker.tsv bit by bit by a small script that knows nothing of
# the encoder (as `evaluate` in assembler_forms.rs does); operands were drawn at random.
    ld32step $m5, $m4, $m10+=, $m1                       # = 50a14147
    ld32step $m10, $m4, $m10+=, -106                     # = 96a14a1c
    lds16step $m0, $m3, $m3+=, $m8                       # = 00343847
    lds16step $m8, $m11, $m0+=, -48                      # = d004b81c
    lds8step $m0, $m10, $m11+=, $m8                      # = 00b5a847
    lds8step $m2, $m4, $m2+=, 86                         # = 5625421c
    ldz16step $m4, $m1, $m6+=, $m1                       # = 40661147
    ldz16step $m3, $m3, $m3+=, -13                       # = f336331c
    ldz8step $m1, $m4, $m2+=, $m8                        # = 10274847
    ldz8step $m6, $m2, $m10+=, -86                       # = aaa7261c
    st32step $m7, $m7, $m0+=, -37                        # = db00774e
    stm32step $m3, $m10, $m4                             # = 00a94347
    ld128step $a12:15, $m1, $m4+=, $m3                   # = c3421347
    ld128step $a8:11, $m9, $m4+=, -55                    # = c94a981e
    ld32step $a10, $m11, $m1+=, $m0                      # = a111b047
    ld32step $a4, $m0, $m6+=, 63                         # = 3f61041e
    ld64step $a10:11, $m4, $m6+=, $m7                    # = a1624747
    ld64step $a12:13, $m1, $m1+=, 112                    # = 70121c1e
    ldb16step $a3, $m0, $m11+=, $m11                     # = 31b60b47
    ldb16step $a8, $m1, $m8+=, 46                        # = 2e86181e
    ldb8step $a11, $m0, $m2+=, $m4                       # = b1270447
    ldb8step $a4, $m9, $m1+=, -127                       # = 8117941e
    st32step $a0, $m3, $m11+=, $m3                       # = 00b03355
    st32step $a9, $m6, $m11+=, -88                       # = 9ab0685c
    st64step $a8:9, $m5, $m4+=, $m7                      # = 80415755
    st64step $a0:1, $m10, $m2+=, 64                      # = 0421a05c
    ldd16a32 $a8, $m6++, $m6, $m4@                       # = 806a6445
    ldd16a64 $a0:1, $m7++, $m1, $m9@                     # = 007b1945
    ldd16b16 $a7, $m5++, $m3, $m3@                       # = 705c3345
    ldd16v2a32 $a4, $m7++, $m5, $m6@                     # = 40785645
    ldb16b16 $a2:3, $m9, $m0++, $m5>>                    # = 20599045
    ld64a32 $a4:7, $m1++, $m11, $m5                      # = 4317b547
