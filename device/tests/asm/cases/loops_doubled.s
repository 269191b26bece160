# A macro whose expansion doubles its argument.
.macro doubled n
    doubled \n\n
    doubled \n\n
.endm
    doubled x
#> loops_doubled.s:3:5: error: macro expansion is too large
#>   in macro `doubled` at loops_doubled.s:3:5
#>   in macro `doubled` at loops_doubled.s:3:5
#>   in macro `doubled` at loops_doubled.s:3:5
#>   in macro `doubled` at loops_doubled.s:3:5
#>   in macro `doubled` at loops_doubled.s:3:5
#>   ...
