# Expected words: fields put into the pattern column of worker.tsv bit by bit by a small script that knows nothing of
# the encoder (as `evaluate` in assembler_forms.rs does); operands were drawn at random.
    f16v2clamp $a11, $a10, $a2                           # = bd24a058
    f16v4acc $a4:5                                       # = 00804059
    f16v4clamp $a10:11, $a10:11, $a1                     # = ae14a058
    f16v4gacc $a12:13                                    # = c0040050
    f16v4hihoamp $a5, $a8:9, $a2, 3                      # = 0381255b
    f16v4hihov4amp $a6:7, $a6:7, $a0:1, 13               # = 4d67065b
    f16v4istacc $a2:3, $a4:5, $a6:7, 57                  # = 3948625b
    f16v4sihoamp $a6, $a2:3, $a2:3, 40                   # = 2825265b
    f16v4sisoamp $a10:11, $a10:11, $a4:5, 42             # = 2aa74a5b
    f16v4stacc $a6:7, 47                                 # = 2f090651
    f16v8acc $a12:15                                     # = 0081c059
    f32clamp $a6, $a1, $a2:3                             # = 6c241058
    f32sisoamp $a8:9, $a3, $a0:1, 25                     # = 193f085b
    f32sisov2amp $a0:1, $a1, $a2:3, 32                   # = 601f205b
    f32v2aop $a10:11, $a12:13, 145                       # = 91cca05a
    f32v2clamp $a4:5, $a10:11, $a4:5                     # = 4f44a058
    f32v4acc $a4:7                                       # = 00824059
    f8v8hihov4amp $a8:9, $a0:1, $a0:1, 34                # = 6209085b
