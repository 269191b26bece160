# Expected words by hand from the table of aliases (assembler.md 6): the word given there with registers in their places.
    nop                                  # = 0000e019
    fnop                                 # = 0000d01a
    zero $m3                             # = 31f3f044
    zero $a6                             # = 60fef058
    zero $a4:5                           # = 41eee058
    mov $m4, $m11                        # = 0090b442
    mov $a2, $a7                         # = 00907252
    mov $m3, $a5                         # = 5000035d
    mov $a2:3, $a6:7                     # = 21ee6058
    strap                                # = ff80f043
    sub $m4, $m5, 12                     # = f4ff5422
    sub $m4, $m5, -12                    # = 0c005422
    ldconst $m2, 5                       # = 05002019
    ldconst $m2, 0x12345678              # = 7856241923c12242
    ldconst $a2, -1                      # = ffff2f1affdf2252
    ldconst $m1, 1.0h                    # = 003c1019
    { nop ; fnop }                       # = 0000e0990000d09a
