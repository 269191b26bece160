# Expected words: fields put into the pattern column of worker.tsv bit by bit by a small script that knows nothing of
# the encoder (as `evaluate` in assembler_forms.rs does); operands were drawn at random.
    f16v4hihoslic $a11, $a2:3, $a3, 30                   # = 1e203b5b
    f16v4hihov4slic $a0:1, $a0:1, $a12:13, 38            # = 6606c05b
    f16v4sihoslic $a4, $a2:3, $a10:11, 42                # = 2a24a45b
    f16v4sisoslic $a8:9, $a10:11, $a6:7, 19              # = 13a6685b
    f32sisoslic $a10:11, $a4, $a8:9, 55                  # = 374e8a5b
    f32sisov2slic $a2:3, $a2, $a6:7, 15                  # = 4f2e625b
    f8v8hihov4slic $a10:11, $a2:3, $a12:13, 54           # = 762aca5b
