# context: supervisor
# Expected words: fields put into the pattern column of supervisor.tsv bit by bit by a small script that knows nothing of
# the encoder (as `evaluate` in assembler_forms.rs does); operands were drawn at random.
    ld128putcs 109                                       # = 6dd00041
    ld64putcs 157                                        # = 9dc00041
    run $m7, $m10, 23504                                 # = d0ab7514
    runall $m2, $m2, 36003                               # = a32c2815
    delay 26452                                          # = 5467a040
    sync 2                                               # = 02008041
    sans 179130                                          # = babbc240
    send 43, 143978, 3                                   # = 5393717d
    delaypic 81, 0, 76544                                # = 002b8962
    delayxpic 2162, 1, 1571                              # = 23a61c66
    sendoff 1084, 1246, 1                                # = f1268477
    sendpic 63, 0, 23240                                 # = c85af077
    sendpicp 60, 247744, 6, 0                            # = 063e9ef7
