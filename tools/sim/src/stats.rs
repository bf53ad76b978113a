// SPDX-License-Identifier: GPL-2.0

//! What is measured in a run.

/// Jain's index of fairness: 1 if all are equal, 1/n if one has it all.
pub fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares > 0.0 {
        sum * sum / (values.len() as f64 * squares)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_among_equals() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
        assert_eq!(jain(&[]), 1.0);
    }
}
