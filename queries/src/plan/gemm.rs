//! GEMM: what it computes and how its work is cut over tiles.
//!
//! A plan cuts `[M, K] x [K, N]` into a grid of `Mp x Np x Kp` blocks, one a tile, rows one by one, K and N in groups of
//! 16 (an atom). Each tile walks its K range in `steps` chunks: an input phase brings the chunk's operands, a call of the
//! kernel multiplies and accumulates. With `Kp > 1` the partial results of a block are summed by reduce-scatter.
//!
//! The tiles of a reduction group have consecutive numbers: their route times then differ by separable terms only, which
//! is worth 100 to 200 cycles a reduction (`scheduling-study.md` 4).

use ipuc_device::memory::TileId;

use super::partition::balanced;

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperandKind {
    /// Written per call: every byte goes to exactly one tile.
    Input,
    /// Written once: may be replicated.
    Weight,
    /// Computed by an earlier operator.
    Result,
}

/// The nameless content of a GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GemmShape {
    /// Rows of left and result, outer axes flattened in.
    pub m: u32,
    /// Inner extent.
    pub k: u32,
    /// Columns of right and result.
    pub n: u32,
    /// Left operand `[M, K]`.
    pub left: OperandKind,
    /// Right operand `[K, N]`: an input or a weight.
    pub right: OperandKind,
}

impl GemmShape {
    /// Groups of 16 along K.
    pub fn k_groups(&self) -> u32 {
        self.k.div_ceil(16)
    }
    /// Groups of 16 along N.
    pub fn n_groups(&self) -> u32 {
        self.n.div_ceil(16)
    }
}

/// How a GEMM is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GemmPlan {
    /// Partitions of M, N and K.
    pub grid: [u32; 3],
    /// Chunks in which a tile walks its K range.
    pub steps: u32,
    /// Each tile holds its block of a weight on the left; else the block's tiles share one copy.
    pub left_resident: bool,
    /// Each tile holds its block of a weight on the right; else the block's tiles share one copy.
    pub right_resident: bool,
}

/// Coordinates of a tile in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Row block.
    pub m: u32,
    /// Column block.
    pub n: u32,
    /// K block.
    pub k: u32,
}

impl GemmPlan {
    /// Number of tiles that compute.
    pub fn tiles(&self) -> u32 {
        self.grid.iter().product()
    }

    /// The tile of a cell.
    pub fn tile(&self, cell: Cell) -> TileId {
        let [_, np, kp] = self.grid;
        TileId(((cell.m * np + cell.n) * kp + cell.k) as u16)
    }

    /// The cells in tile order.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let [mp, np, kp] = self.grid;
        (0..mp).flat_map(move |m| (0..np).flat_map(move |n| (0..kp).map(move |k| Cell { m, n, k })))
    }

    /// First row and number of rows of a row block.
    pub fn rows(&self, shape: &GemmShape, m: u32) -> (u32, u32) {
        balanced(shape.m, self.grid[0], m)
    }

    /// First and number of the N groups of a column block.
    pub fn n_groups(&self, shape: &GemmShape, n: u32) -> (u32, u32) {
        balanced(shape.n_groups(), self.grid[1], n)
    }

    /// First and number of the K groups of a K block.
    pub fn k_groups(&self, shape: &GemmShape, k: u32) -> (u32, u32) {
        balanced(shape.k_groups(), self.grid[2], k)
    }

    /// First (in the whole matrix) and number of the K groups of a chunk.
    pub fn chunk(&self, shape: &GemmShape, k: u32, step: u32) -> (u32, u32) {
        let (first, count) = self.k_groups(shape, k);
        let (offset, length) = balanced(count, self.steps, step);
        (first + offset, length)
    }

    /// The left operand is loaded to one place and multicast to the tiles of its row and K block.
    pub fn left_moves(&self, shape: &GemmShape) -> bool {
        match shape.left {
            OperandKind::Result => true,
            OperandKind::Input => self.grid[1] > 1,
            OperandKind::Weight => self.grid[1] > 1 && !self.left_resident,
        }
    }

    /// The right operand is loaded to one place and multicast to the tiles of its column and K block.
    pub fn right_moves(&self, shape: &GemmShape) -> bool {
        self.grid[0] > 1 && !(self.right_resident && shape.right == OperandKind::Weight)
    }

    /// Why the plan can't work on so many tiles; `None` if it can.
    pub fn objection(&self, shape: &GemmShape, tiles: u32) -> Option<String> {
        let [mp, np, kp] = self.grid;
        if self.grid.contains(&0) || self.steps == 0 {
            return Some("every extent of the grid and the steps must be at least 1".into());
        }
        let product = u64::from(mp) * u64::from(np) * u64::from(kp);
        if product > u64::from(tiles) {
            return Some(format!("the grid {mp} x {np} x {kp} needs {product} tiles, the target has {tiles}"));
        }
        if mp > shape.m {
            return Some(format!("{mp} row partitions of {} rows leave some empty", shape.m));
        }
        if np > shape.n_groups() {
            let groups = shape.n_groups();
            return Some(format!(
                "{np} column partitions of {} columns ({groups} groups of 16) leave some empty",
                shape.n
            ));
        }
        if u64::from(kp) * u64::from(self.steps) > u64::from(shape.k_groups()) {
            let (groups, steps) = (shape.k_groups(), self.steps);
            return Some(format!(
                "{kp} K partitions in {steps} steps of an inner extent of {} ({groups} groups of 16) leave some empty",
                shape.k
            ));
        }
        None
    }
}

impl std::fmt::Display for GemmPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [m, n, k] = self.grid;
        write!(f, "grid {m} x {n} x {k}")?;
        if self.steps > 1 {
            write!(f, ", {} steps", self.steps)?;
        }
        write!(f, ", right {}", if self.right_resident { "resident" } else { "shared" })?;
        if self.left_resident {
            write!(f, ", left resident")?;
        }
        Ok(())
    }
}
