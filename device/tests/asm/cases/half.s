# Half constants; expected values from assembler.md 5, in the low 20 bits of `setzi $m0` (0x19000000).
    setzi $m0, 1.0h              # = 003c0019
    setzi $m0, 1.0009765625h     # = 013c0019
    setzi $m0, -2.0h             # = 00c00019
    setzi $m0, 65504.0h          # = ff7b0019
    setzi $m0, 6.10352e-5h       # = 00040019
    setzi $m0, 6.09756e-5h       # = ff030019
    setzi $m0, 5.96046e-8h       # = 01000019
    setzi $m0, 0.0h              # = 00000019
    setzi $m0, -0.0h             # = 00800019
    setzi $m0, infh              # = 007c0019
    setzi $m0, -infh             # = 00fc0019
    setzi $m0, 0.333251953125h   # = 55350019
