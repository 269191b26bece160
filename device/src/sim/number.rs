//! Number formats: f16 and f32 as register bits (`semantics.md` 4.1, 4.2).
//!
//! 1. f16 widens exactly, subnormals included.
//! 2. Rounding to f16 is to nearest, ties to even; an overflow gives the largest finite value (`NANOO` = 0) or a NaN
//!    (`NANOO` = 1), never an infinity. The flags are raised as `semantics.md` 4.2 presumes.

/// Sticky flag bits as in `$FP_STS`.
pub(super) const INVALID: u32 = 1;
/// Division by zero.
pub(super) const DIVIDE_BY_ZERO: u32 = 2;
/// Overflow.
pub(super) const OVERFLOW: u32 = 4;
/// `$FP_CTL.NANOO`.
pub(super) const NAN_ON_OVERFLOW: u32 = 1 << 20;

/// f16 bits to f32.
#[inline]
pub(super) fn widen(half: u16) -> f32 {
    let magnitude = u32::from(half & 0x7fff) << 13;
    let sign = u32::from(half & 0x8000) << 16;
    // The exponent bias differs by 112; scaling by a power of two is exact and treats subnormals as well.
    let scaled = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
    let special = if magnitude >= 0x0f80_0000 { 0x7f80_0000 } else { 0 };
    f32::from_bits(scaled.to_bits() | special | sign)
}

/// The two f16 of a register.
#[inline]
pub(super) fn widen2(register: u32) -> [f32; 2] {
    [widen(register as u16), widen((register >> 16) as u16)]
}

/// The four f16 of a register pair.
#[inline]
pub(super) fn widen4(pair: [u32; 2]) -> [f32; 4] {
    let [a, b] = widen2(pair[0]);
    let [c, d] = widen2(pair[1]);
    [a, b, c, d]
}

/// f32 to f16 bits; `control` is `$FP_CTL`, raised flags are added to `flags`.
#[inline]
pub(super) fn narrow(value: f32, control: u32, flags: &mut u32) -> u16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let sign = (bits >> 16 & 0x8000) as u16;
    // Normal results: 2^-14 up to below 65520.
    if (0x3880_0000..0x477f_f000).contains(&magnitude) {
        let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
        return sign | ((rounded - 0x3800_0000) >> 13) as u16;
    }
    if magnitude == 0 {
        return sign;
    }
    narrow_special(magnitude, sign, control, flags)
}

#[cold]
fn narrow_special(magnitude: u32, sign: u16, control: u32, flags: &mut u32) -> u16 {
    if magnitude > 0x7f80_0000 {
        *flags |= INVALID;
        return 0x7e00;
    }
    if magnitude >= 0x477f_f000 {
        if control & NAN_ON_OVERFLOW != 0 {
            *flags |= INVALID;
            return 0x7e00;
        }
        *flags |= OVERFLOW;
        return sign | 0x7bff;
    }
    // Below the normals the unit is 2^-24: adding 0.5 lets the f32 adder round at that bit, to nearest even.
    let shifted = f32::from_bits(magnitude) + 0.5;
    sign | (shifted.to_bits() - 0x3f00_0000) as u16
}

/// Two f32 to a register of two f16.
#[inline]
pub(super) fn narrow2(low: f32, high: f32, control: u32, flags: &mut u32) -> u32 {
    u32::from(narrow(low, control, flags)) | u32::from(narrow(high, control, flags)) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widening_agrees_with_the_half_crate() {
        for h in 0..=u16::MAX {
            let ours = widen(h);
            let theirs = half::f16::from_bits(h).to_f32();
            assert!(ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()), "{h:#x}");
        }
    }

    #[test]
    fn narrowing_agrees_with_the_half_crate_but_for_overflow() {
        let mut state = 1u32;
        for i in 0..2_000_000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Every second value lies in or near the f16 range.
            let bits = if i & 1 == 0 { state } else { (state & 0x8fff_ffff) | 0x3000_0000 };
            let x = f32::from_bits(bits);
            let mut flags = 0;
            let ours = narrow(x, 0, &mut flags);
            let theirs = half::f16::from_f32(x);
            if x.is_nan() {
                assert_eq!((ours, flags), (0x7e00, INVALID));
            } else if theirs.is_infinite() {
                assert_eq!((ours & 0x7fff, flags), (0x7bff, OVERFLOW));
                assert_eq!(narrow(x, NAN_ON_OVERFLOW, &mut flags), 0x7e00);
            } else {
                assert_eq!((ours, flags), (theirs.to_bits(), 0), "{x:e}");
            }
        }
    }
}
