# Expected words: fields put into the pattern column of worker.tsv bit by bit by a small script that knows nothing of
# the encoder (as `evaluate` in assembler_forms.rs does); operands were drawn at random.
# Both halves have bit 31 set.
    { ld2xst64pace $a0:3, $a12:13, $m0:1+=, $m7, 30 ; f16v4hihov4amp $a8:9, $a2:3, $a4:5, 0 } # = ce0970d6402748db
    { ldst64pace $a2:3, $a10:11, $m4:5+=, $m5, 4 ; f32sisoamp $a0:1, $a3, $a6:7, 57 } # = a44152d6393f60db
    { st64pace $a2:3, $m6:7+=, $m6, 148 ; f16v4istacc $a8:9, $a8:9, $a10:11, 37 } # = 296264dc2588a8db
    { brnzdec $m9, 87235 ; uput 252, $a4 } # = c3549993fc8040d1
    { get $m5, 64 ; f32v2mac $a6:7, $a10:11 } # = 400005c180a060da
    { ld64step $a10:11, $m3, $m7+=, -62 ; f16v4sisoslic $a4:5, $a12:13, $a4:5, 18 } # = c2723a9e12c644db
    { st32 $a10, $m11, $m11, 1009 ; f8v8hihov4amp $a10:11, $a4:5, $a10:11, 4 } # = a1b3bfde4449aadb
    { add $m8, $m3, 15789 ; urand64 $a6:7 } # = ad3d38a2600100d0
