# An include of itself.
#include "self.s"
#> self.s:2:1: error: #include nested more than 40 deep
