//! Logical and physical tile numbers, and the route time between two tiles (`exchange.md` 1.1 to 1.4).

use crate::memory::{TILES, TileId};

/// A physical tile id: `64 row + 4 column + 2 lane + b` (11 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct PhysicalTile(pub u16);

impl PhysicalTile {
    /// Distance from the mux along the column, 0 .. 22.
    pub fn row(self) -> i32 {
        i32::from(self.0 >> 6)
    }
    fn column(self) -> i32 {
        i32::from((self.0 >> 2) & 15)
    }
    fn half(self) -> i32 {
        i32::from((self.0 >> 5) & 1)
    }
    fn column_in_half(self) -> i32 {
        i32::from((self.0 >> 2) & 7)
    }
    fn lane(self) -> i32 {
        i32::from((self.0 >> 1) & 1)
    }
    fn column_lane(self) -> i32 {
        i32::from(self.0 & 1)
    }
    fn folded(self) -> i32 {
        let c = self.column();
        if c < 8 { c } else { 15 - c }
    }
    /// The other member of the 64-bit pair.
    #[must_use]
    pub fn partner(self) -> Self {
        Self(self.0 ^ 2)
    }
    /// Whether the id exists on the chip.
    pub fn exists(self) -> bool {
        u32::from(self.0) < TILES
    }
}

/// The physical id of a logical tile (boustrophedon over 32 blocks of 23 pairs).
pub fn physical(tile: TileId) -> PhysicalTile {
    let pair = tile.0 / 2;
    let (block, i) = (pair / 23, pair % 23);
    let row = if block % 2 == 0 { i } else { 22 - i };
    PhysicalTile(64 * row + 4 * (block / 2) + 2 * (tile.0 % 2) + block % 2)
}

/// The logical number of a physical tile.
pub fn logical(tile: PhysicalTile) -> TileId {
    let block = 2 * (tile.column() as u16) + tile.column_lane() as u16;
    let row = tile.row() as u16;
    let i = if block.is_multiple_of(2) { row } else { 22 - row };
    TileId(2 * (23 * block + i) + tile.lane() as u16)
}

/// Route displacement from `s` to `d`; never 0, its sign gives the direction.
pub fn displacement(s: PhysicalTile, d: PhysicalTile) -> i32 {
    let mux = s.folded() + (s.half() ^ s.column_lane());
    let same = d.half() == d.column_lane();
    let offset = match (d.lane(), same) {
        (1, true) => 2,
        (1, false) => 4,
        (_, true) => 1,
        (_, false) => 5,
    };
    6 * (d.folded() - mux) + offset
}

/// The half of the outgoing bus that reaches `d` from `s`: 1 or 2, as in the send control field.
pub fn direction(s: PhysicalTile, d: PhysicalTile) -> u8 {
    if displacement(s, d) >= 1 { 1 } else { 2 }
}

/// Events from the send of a word at `s` until the mux of `d` must select `s`; can be negative.
///
/// A word sent in slot `S` (event `S + 1`) passes the mux of `d` at event `S + 1 + route_time`.
pub fn route_time(s: PhysicalTile, d: PhysicalTile) -> i32 {
    let turn = if s.half() == d.half() { s.column_in_half() + 1 } else { 16 - s.column_in_half() };
    8 * s.half() - 31 - d.column() + 4 * s.folded() - 4 * d.folded()
        + turn
        + 2 * (s.row() - d.row())
        + displacement(s, d).abs()
}

/// Events from the mux of `d` to the write into its memory.
pub fn mux_to_memory(d: PhysicalTile) -> i32 {
    52 + 2 * d.row()
}

/// Events from the send of a word to its write: 18 .. 164.
pub fn latency(s: PhysicalTile, d: PhysicalTile) -> i32 {
    route_time(s, d) + mux_to_memory(d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_is_a_permutation() {
        let mut seen = vec![false; TILES as usize];
        for l in 0..TILES as u16 {
            let p = physical(TileId(l));
            assert_eq!(logical(p), TileId(l));
            assert!(!std::mem::replace(&mut seen[p.0 as usize], true));
        }
    }

    #[test]
    fn ranges_over_the_whole_chip() {
        let (mut tau, mut lat) = ((i32::MAX, i32::MIN), (i32::MAX, i32::MIN));
        let mut first = 0u32;
        for s in 0..TILES as u16 {
            for d in (0..TILES as u16).filter(|&d| d != s) {
                let (s, d) = (PhysicalTile(s), PhysicalTile(d));
                let t = route_time(s, d);
                tau = (tau.0.min(t), tau.1.max(t));
                let l = latency(s, d);
                lat = (lat.0.min(l), lat.1.max(l));
                first += u32::from(direction(s, d) == 1);
                if d.partner() != s {
                    assert_eq!((t - route_time(s, d.partner())).abs(), 1);
                }
            }
        }
        assert_eq!(tau, (-78, 112));
        assert_eq!(lat, (18, 164));
        assert_eq!(first, TILES * (TILES - 1) / 2);
    }

    /// s, d (logical), both physical ids, D, direction, tau, L, and S, X, P of an isolated transfer (`exchange.md` 1.5).
    #[test]
    fn worked_examples() {
        for (s, d, ps, pd, displace, dir, tau, lat, slot, mux, pointer) in [
            (0, 2, 0, 64, 1, 1, -31, 23, 31, 1, 55),
            (2, 0, 64, 0, 1, 1, -27, 25, 27, 1, 53),
            (0, 1286, 0, 53, 13, 1, -23, 29, 23, 1, 53),
            (736, 100, 32, 260, -41, 2, 49, 109, 0, 50, 110),
            (1286, 1471, 53, 63, -10, 2, -14, 38, 14, 1, 53),
            (32, 0, 1024, 0, 1, 1, 3, 55, 0, 4, 56),
            (0, 46, 0, 1409, 5, 1, -69, 27, 69, 1, 97),
            (0, 1471, 0, 63, 2, 1, -28, 24, 28, 1, 53),
            (1471, 0, 63, 0, 1, 1, -13, 39, 13, 1, 53),
            (700, 701, 1117, 1119, -2, 2, -28, 58, 28, 1, 87),
            (45, 46, 1410, 1409, 5, 1, -25, 71, 25, 1, 97),
            (333, 1000, 1103, 361, 7, 1, -5, 57, 5, 1, 63),
        ] {
            let (s, d) = (physical(TileId(s)), physical(TileId(d)));
            assert_eq!((s.0, d.0), (ps, pd));
            assert_eq!(displacement(s, d), displace, "{ps} -> {pd}");
            assert_eq!(direction(s, d), dir, "{ps} -> {pd}");
            assert_eq!(route_time(s, d), tau, "{ps} -> {pd}");
            assert_eq!(latency(s, d), lat, "{ps} -> {pd}");
            let first = (-route_time(s, d)).max(0);
            assert_eq!(first, slot, "{ps} -> {pd}");
            assert_eq!(first + tau + 1, mux, "{ps} -> {pd}");
            assert_eq!(first + 1 + latency(s, d), pointer, "{ps} -> {pd}");
        }
    }

    #[test]
    fn more_map_points() {
        for (l, p) in [
            (1, 2),
            (3, 66),
            (44, 1408),
            (45, 1410),
            (47, 1411),
            (91, 3),
            (92, 4),
            (93, 6),
            (735, 31),
            (736, 32),
            (1470, 61),
        ] {
            assert_eq!(physical(TileId(l)), PhysicalTile(p));
        }
    }

    /// `exchange.md` 1.4: L = tau + 52 + 2 r_d = 52 + 2 r_s + kappa, kappa a function of the low 6 bits of both ids.
    #[test]
    fn latency_depends_on_the_sender_row_and_the_low_bits_only() {
        let mut kappa = vec![None; 64 * 64];
        for s in 0..TILES as u16 {
            for d in (0..TILES as u16).filter(|&d| d != s) {
                let (from, to) = (PhysicalTile(s), PhysicalTile(d));
                assert_eq!(latency(from, to), route_time(from, to) + 52 + 2 * to.row());
                let here = latency(from, to) - 52 - 2 * from.row();
                let known = kappa[usize::from(s & 63) * 64 + usize::from(d & 63)].get_or_insert(here);
                assert_eq!(*known, here, "{s} -> {d}");
            }
        }
        let all: Vec<i32> = kappa.into_iter().flatten().collect();
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&-34), Some(&68)));
    }
}
