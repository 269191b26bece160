//! Content digests: blake3 over what a type's `Hash` feeds, and values that compare by it.
//!
//! Big values travel between queries as [`Keyed`]: an `Arc` beside its digest, so that a cut-off costs 32 bytes and the
//! digest doubles as a key. Types without `Hash` (hash maps, floats) can't be digested, which is the point: neither has
//! a canonical order or equality.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A blake3 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Digest of everything that `value` feeds to a hasher.
    pub fn of<T: Hash + ?Sized>(value: &T) -> Self {
        let mut hasher = Blake3Hasher::new();
        value.hash(&mut hasher);
        hasher.digest()
    }

    /// All hexadecimal digits.
    pub fn hex(&self) -> String {
        blake3::Hash::from(self.0).to_hex().to_string()
    }

    /// The first eight hexadecimal digits, for display.
    pub fn short(&self) -> String {
        blake3::Hash::from(self.0).to_hex()[..8].to_owned()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

/// Feeds `Hash` into blake3, in blocks, since fields come a few bytes at a time.
struct Blake3Hasher {
    inner: blake3::Hasher,
    block: Vec<u8>,
}

impl Blake3Hasher {
    const BLOCK: usize = 1 << 14;

    fn new() -> Self {
        Self { inner: blake3::Hasher::new(), block: Vec::with_capacity(Self::BLOCK) }
    }

    fn digest(mut self) -> Digest {
        self.inner.update(&self.block);
        Digest(*self.inner.finalize().as_bytes())
    }
}

impl Hasher for Blake3Hasher {
    fn write(&mut self, bytes: &[u8]) {
        if self.block.len() + bytes.len() > Self::BLOCK {
            self.inner.update(&self.block);
            self.block.clear();
        }
        if bytes.len() > Self::BLOCK {
            self.inner.update(bytes);
        } else {
            self.block.extend_from_slice(bytes);
        }
    }

    fn finish(&self) -> u64 {
        let mut inner = self.inner.clone();
        inner.update(&self.block);
        u64::from_le_bytes(inner.finalize().as_bytes()[..8].try_into().expect("a digest has 32 bytes"))
    }
}

/// An immutable value that is compared and hashed by its digest.
pub struct Keyed<T> {
    /// Digest of the content.
    pub digest: Digest,
    data: Arc<T>,
}

impl<T: Hash> Keyed<T> {
    /// Takes a value and digests it.
    pub fn new(value: T) -> Self {
        Self { digest: Digest::of(&value), data: Arc::new(value) }
    }
}

impl<T> Keyed<T> {
    /// The value to keep beyond a borrow of the database.
    pub fn share(&self) -> Arc<T> {
        Arc::clone(&self.data)
    }
}

impl<T> Clone for Keyed<T> {
    fn clone(&self) -> Self {
        Self { digest: self.digest, data: Arc::clone(&self.data) }
    }
}

impl<T> PartialEq for Keyed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl<T> Eq for Keyed<T> {}

impl<T> Hash for Keyed<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl<T> Deref for Keyed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T> fmt::Debug for Keyed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_change_the_digest() {
        let long: Vec<u32> = (0..20_000).collect();
        let mut plain = blake3::Hasher::new();
        plain.update(&(long.len() as u64).to_le_bytes());
        for x in &long {
            plain.update(&x.to_le_bytes());
        }
        assert_eq!(Digest::of(&long).0, *plain.finalize().as_bytes());
    }

    #[test]
    fn equal_content_is_equal() {
        assert_eq!(Keyed::new(vec![1u8, 2]), Keyed::new(vec![1u8, 2]));
        assert_ne!(Keyed::new(vec![1u8, 2]), Keyed::new(vec![2u8, 1]));
    }
}
