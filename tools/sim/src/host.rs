// SPDX-License-Identifier: GPL-2.0

//! The hypervisor: gives out CPU time.

/// What a guest asks for.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// What it wants, and may have at most.
    pub limit: f64,
    /// What it counts for.
    pub weight: f64,
}

/// Gives out `cpus` so that nobody gets more than the limit of its claim, and everybody who gets less
/// gets the same for its weight (weighted max-min fairness). Returns what is left.
///
/// This is what fair schedulers do over any time that is long beside their slices.
pub fn give(cpus: f64, claims: &[Claim], order: &mut Vec<usize>, grants: &mut Vec<f64>) -> f64 {
    grants.clear();
    grants.extend(claims.iter().map(|claim| claim.limit));
    let wanted: f64 = grants.iter().sum();
    if wanted <= cpus {
        return cpus - wanted;
    }

    let key = |at: &usize| claims[*at].limit / claims[*at].weight.max(f64::MIN_POSITIVE);
    order.clear();
    order.extend(0..claims.len());
    order.sort_unstable_by(|one, other| key(one).total_cmp(&key(other)).then(one.cmp(other)));
    let mut left = cpus;
    let mut weights: f64 = claims.iter().map(|claim| claim.weight).sum();
    for &at in order.iter() {
        let claim = &claims[at];
        grants[at] = if weights > 0.0 {
            claim.limit.min(left * claim.weight / weights)
        } else {
            0.0
        };
        left = (left - grants[at]).max(0.0);
        weights -= claim.weight;
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(cpus: f64, claims: &[(f64, f64)]) -> (Vec<f64>, f64) {
        let claims: Vec<_> = claims
            .iter()
            .map(|&(limit, weight)| Claim { limit, weight })
            .collect();
        let mut grants = Vec::new();
        let left = give(cpus, &claims, &mut Vec::new(), &mut grants);
        (grants, left)
    }

    #[test]
    fn all_is_given_when_there_is_enough() {
        assert_eq!(
            given(10.0, &[(3.0, 1.0), (4.0, 9.0)]),
            (vec![3.0, 4.0], 3.0)
        );
    }

    #[test]
    fn what_one_does_not_want_goes_to_the_others() {
        assert_eq!(
            given(12.0, &[(9.0, 1.0), (2.0, 1.0), (9.0, 1.0)]),
            (vec![5.0, 2.0, 5.0], 0.0)
        );
        assert_eq!(
            given(12.0, &[(20.0, 1.0), (20.0, 3.0)]),
            (vec![3.0, 9.0], 0.0)
        );
    }
}
