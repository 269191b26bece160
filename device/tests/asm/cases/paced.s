# Expected words: fields put into the pattern column of worker.tsv bit by bit by a small script that knows nothing of
# the encoder (as `evaluate` in assembler_forms.rs does); operands were drawn at random.
    ld2x64pace $a4:5, $a2:3, $m0:1+=, $m9, 1             # = 21009446
    ld2xst64pace $a4:7, $a6:7, $m2:3+=, $m2, 10          # = 6a282456
    ld64a32pace $a0:1, $a4, $m0:1+=, $m10, 10            # = 4a03a046
    ld64b16pace $a10:11, $a11, $m6:7+=, $m7, 1           # = b1627a46
    ldst64pace $a12:13, $a10:11, $m2:3+=, $m1, 14        # = ae211c56
    st64pace $a8:9, $m4:5+=, $m0, 37                     # = 8242055c
    tapack $m8:9, $m11, $m1, $m1                         # = 8110b14d
