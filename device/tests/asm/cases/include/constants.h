// A file to be included by preprocessor.s.
#define INCLUDED 0x123
    trap 7
