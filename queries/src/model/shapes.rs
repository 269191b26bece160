//! Shape and dtype rules of the operators (`planning.md` 1.2).

use super::graph::{DType, OpKind, Shape, TensorType};

/// Why operands do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// In one line, without the operator's name.
    pub message: String,
    /// What each operand is in the rule, in order.
    pub operands: Vec<String>,
    /// What is wrong, for the list of operands.
    pub label: String,
    /// The rule, and hints.
    pub notes: Vec<String>,
    /// Well formed, but not supported yet.
    pub later: bool,
}

/// How many operands a kind takes.
pub fn operands(kind: &OpKind) -> usize {
    match kind {
        OpKind::Gemm { .. } => 2,
    }
}

/// The result of an operator.
pub fn infer(kind: &OpKind, operands: &[&TensorType]) -> Result<TensorType, Mismatch> {
    match kind {
        OpKind::Gemm { precision } => gemm(*precision, operands[0], operands[1]),
    }
}

const GEMM_RULE: &str = "gemm: left [.., M, K] x right [K, N] -> [.., M, N]";

fn gemm(precision: DType, left: &TensorType, right: &TensorType) -> Result<TensorType, Mismatch> {
    let (l, r) = (&left.shape.0, &right.shape.0);
    let mismatch = |message: String, label: &str| Mismatch {
        message,
        operands: vec![format!("left operand {left}"), format!("right operand {right}")],
        label: label.to_owned(),
        notes: vec![GEMM_RULE.to_owned()],
        later: false,
    };
    for (side, kind) in [("left", left), ("right", right)] {
        if kind.dtype != precision {
            let message = format!("the {side} operand is {}, the precision {precision}", kind.dtype);
            return Err(mismatch(message, "operands must have the dtype of the precision"));
        }
    }
    for (side, shape) in [("left", &left.shape), ("right", &right.shape)] {
        if shape.0.len() < 2 {
            let message = format!("the {side} operand {shape} is no matrix");
            return Err(mismatch(message, "both operands need two axes at least"));
        }
    }
    let (k, n) = (r[r.len() - 2], r[r.len() - 1]);
    let (&inner, leading) = l.split_last().expect("two axes at least");
    if inner != k {
        let message = format!("left operand {} has K = {inner}, right operand {} has K = {k}", left.shape, right.shape);
        let mut found = mismatch(message, "the last extent of the left operand must equal the first of the right one");
        found.operands = vec![
            format!("left operand [.., M, K]: K = {inner}"),
            if r.len() == 2 {
                format!("right operand [K, N]: K = {k}, N = {n}")
            } else {
                format!("right operand: K = {k}")
            },
        ];
        if r.len() == 2 && n == inner {
            found.notes.push(format!("the right operand looks transposed: [N, K] instead of [K, N] = [{n}, {k}]"));
        }
        return Err(found);
    }
    if r.len() > 2 {
        let message = format!("a right operand with leading axes, {}, is not supported yet", right.shape);
        let mut found = mismatch(message, "the right operand must be a matrix [K, N]");
        found.later = true;
        return Err(found);
    }
    let mut shape = leading.to_vec();
    shape.push(n);
    Ok(TensorType { shape: Shape(shape), dtype: precision })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left, right, and the result or whether it is only not supported yet.
    type Case = (&'static [u32], &'static [u32], Result<&'static [u32], bool>);

    #[test]
    fn gemm_shapes() {
        let f16 = |shape: &[u32]| TensorType { shape: Shape(shape.to_vec()), dtype: DType::F16 };
        let kind = OpKind::Gemm { precision: DType::F16 };
        let table: &[Case] = &[
            (&[4, 8], &[8, 2], Ok(&[4, 2])),
            (&[3, 5, 4, 8], &[8, 2], Ok(&[3, 5, 4, 2])),
            (&[1, 1], &[1, 1], Ok(&[1, 1])),
            (&[4, 8], &[7, 2], Err(false)),
            (&[4, 8], &[2, 8], Err(false)),
            (&[8], &[8, 2], Err(false)),
            (&[4, 8], &[8], Err(false)),
            (&[3, 4, 8], &[3, 8, 2], Err(true)),
            (&[3, 4, 8], &[3, 7, 2], Err(false)),
        ];
        for (left, right, expected) in table {
            let found = infer(&kind, &[&f16(left), &f16(right)]);
            match expected {
                Ok(shape) => assert_eq!(found.expect("goes together"), f16(shape)),
                Err(later) => assert_eq!(found.expect_err("does not go together").later, *later),
            }
        }
        let f32 = TensorType { shape: Shape(vec![4, 8]), dtype: DType::F32 };
        assert!(infer(&kind, &[&f32, &f16(&[8, 2])]).is_err());
        let transposed = infer(&kind, &[&f16(&[4, 8]), &f16(&[2, 8])]).expect_err("mismatch");
        assert!(transposed.notes.iter().any(|note| note.contains("[8, 2]")), "{transposed:?}");
    }
}
