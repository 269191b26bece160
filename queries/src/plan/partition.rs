//! Balanced cuts: the first parts are one longer.

/// Start and length of part `index` when `total` things are cut into `parts`.
pub fn balanced(total: u32, parts: u32, index: u32) -> (u32, u32) {
    let (base, longer) = (total / parts, total % parts);
    (index * base + index.min(longer), base + u32::from(index < longer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_contiguous_and_balanced() {
        for total in 0..40 {
            for parts in 1..12 {
                let mut at = 0;
                for i in 0..parts {
                    let (start, length) = balanced(total, parts, i);
                    assert_eq!(start, at);
                    assert!(length == total / parts || length == total.div_ceil(parts));
                    at += length;
                }
                assert_eq!(at, total);
            }
        }
    }
}
