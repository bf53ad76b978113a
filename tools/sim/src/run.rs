// SPDX-License-Identifier: GPL-2.0

//! One run: a pool, a law, a seed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    TICKS,
    guest::{Guest, normal},
    host::{self, Claim},
    law::{Control, Law},
    pool::{Pool, Share},
    stats::jain,
};

/// Intervals over which the steady state is judged: the last hundred of 400, the last quarter of others.
fn window(periods: u32) -> u32 {
    periods - (periods / 4).max(1)
}

/// One interval, averaged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    /// Cores in use, of all guests.
    pub active: f64,
    /// Of the first guest and of the last.
    pub ends: (f64, f64),
    /// The part of the time of the cores in use that was stolen.
    pub steal: f64,
    /// CPUs of the host that nobody used.
    pub free: f64,
    /// What the guests could have used, or the pool has.
    pub goal: f64,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Intervals after which the number of cores stays near what it should be; none if it never does.
    pub settle_periods: Option<u32>,
    /// The most by which a guest's number of cores, averaged over an interval and rounded, swings to either
    /// side in the steady state, a twentieth of all intervals left out.
    pub amplitude: f64,
    /// The lowest of the fairness indices among guests of equal weight.
    pub jain: f64,
    /// The part of the time of the cores in use that was stolen, in the steady state.
    pub steal: f64,
    /// The longest that a load waited for one more core while one was free, in intervals.
    pub wait_periods: f64,
    /// Work done in the whole run, in core intervals of undisturbed work.
    pub work: f64,
    /// Whether a guest was ever below its floor.
    pub below_floor: bool,
    /// The run over time.
    pub points: Vec<Point>,
}

/// The fair shares of guests that can use `limits`.
fn shares(pool: &Pool, guests: &[Guest], limits: impl Iterator<Item = f64>) -> Vec<f64> {
    let claims: Vec<_> = guests
        .iter()
        .zip(limits)
        .map(|(guest, limit)| Claim {
            limit: limit.min(guest.quota),
            weight: guest.weight,
        })
        .collect();
    let mut grants = Vec::new();
    host::give(f64::from(pool.cpus), &claims, &mut Vec::new(), &mut grants);
    grants
}

/// Whole cores out of shares: none loses a whole one, and the sum stays what it is.
fn whole(shares: &[f64], guests: &[Guest]) -> Vec<u32> {
    let mut cores: Vec<u32> = shares.iter().map(|share| share.floor() as u32).collect();
    let left = (shares.iter().sum::<f64>() + 1e-6).floor() as u32 - cores.iter().sum::<u32>();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&one, &other| shares[other].fract().total_cmp(&shares[one].fract()));
    for &at in order.iter().take(left as usize) {
        cores[at] += 1;
    }
    cores
        .iter()
        .zip(guests)
        .map(|(&cores, guest)| cores.clamp(guest.floor, guest.cores))
        .collect()
}

struct Run<'a> {
    pool: &'a Pool,
    rng: ChaCha8Rng,
    guests: Vec<Guest>,
    claims: Vec<Claim>,
    grants: Vec<f64>,
    order: Vec<usize>,
}

impl<'a> Run<'a> {
    fn new(pool: &'a Pool, law: Law, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut guests = Vec::new();
        let weights: f64 = pool
            .guests
            .iter()
            .map(|spec| spec.weight * f64::from(spec.count))
            .sum();
        for spec in &pool.guests {
            let share = (f64::from(pool.cpus) * spec.weight / weights).ceil() as u32;
            let share = if spec.entitled > 1 {
                spec.entitled
            } else {
                share
            };
            for _ in 0..spec.count {
                guests.push(Guest::new(spec, Control::new(law, share), &mut rng));
            }
        }
        Self {
            pool,
            rng,
            guests,
            claims: Vec::new(),
            grants: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Gives out the time of a tick. Returns what is left of it.
    fn give(&mut self) -> f64 {
        let pool = self.pool;
        self.claims.clear();
        for guest in &self.guests {
            let wanted = guest.wanted();
            self.claims.push(Claim {
                limit: (wanted * (1.0 - pool.residue)).min(guest.quota),
                weight: match pool.share {
                    Share::Guest => guest.weight,
                    Share::Vcpu => guest.weight * wanted,
                },
            });
        }
        let cpus = f64::from(pool.cpus) * (1.0 - pool.residue);
        let left = host::give(cpus, &self.claims, &mut self.order, &mut self.grants);
        let disturbed = pool.interference * (1.0 - left / cpus).powi(4);
        for (guest, granted) in self.guests.iter().zip(&mut self.grants) {
            let vary = pool.jitter * (pool.residue + disturbed);
            let part = if vary > 0.0 {
                vary * normal(&mut self.rng)
            } else {
                0.0
            };
            *granted = (*granted * (1.0 - (disturbed + part).clamp(-pool.residue, 0.9)))
                .min(guest.wanted());
        }
        left / (1.0 - pool.residue)
    }

    fn tick(&mut self, tick: u32) -> f64 {
        for guest in &mut self.guests {
            guest.advance(tick, &mut self.rng);
        }
        let left = self.give();
        for (guest, &granted) in self.guests.iter_mut().zip(&self.grants) {
            let wanted = guest.wanted();
            guest.take(wanted, granted);
        }
        left
    }

    fn govern(&mut self, tick: u32) {
        for guest in &mut self.guests {
            if !guest.folds || guest.due > tick {
                continue;
            }
            if self.pool.missing > 0.0 && self.rng.random::<f64>() < self.pool.missing {
                guest.skip();
            } else {
                let stale = self.pool.stale > 0.0 && self.rng.random::<f64>() < self.pool.stale;
                guest.sample(self.pool.noise, stale, &mut self.rng);
            }
        }
    }
}

/// Runs a pool under a law.
pub fn run(pool: &Pool, law: Law, seed: u64) -> Outcome {
    if law == Law::Oracle {
        return oracle(pool, seed);
    }
    simulate(pool, Run::new(pool, law, seed))
}

/// Tries fixed numbers of cores from each guest's share of its mean demand to all, and takes what does most.
fn oracle(pool: &Pool, seed: u64) -> Outcome {
    let attempt = |scale: f64| {
        let mut run = Run::new(pool, Law::Oracle, seed);
        let mean = mean_demand(pool, &run.guests);
        let fair = shares(pool, &run.guests, mean.into_iter());
        let scaled: Vec<f64> = fair
            .iter()
            .zip(&run.guests)
            .map(|(share, guest)| (share * scale).min(f64::from(guest.cores)))
            .collect();
        let cores = whole(&scaled, &run.guests);
        for (guest, cores) in run.guests.iter_mut().zip(cores) {
            guest.active = if guest.folds { cores } else { guest.cores };
        }
        simulate(pool, run)
    };
    [1.0, 1.25, 1.5, 2.0, 3.0, 1e6]
        .into_iter()
        .map(attempt)
        .max_by(|one, other| one.work.total_cmp(&other.work))
        .expect("there are several")
}

fn mean_demand(pool: &Pool, guests: &[Guest]) -> Vec<f64> {
    let mut guests = guests.to_vec();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut sums = vec![0.0; guests.len()];
    for period in 0..pool.periods {
        for (guest, sum) in guests.iter_mut().zip(&mut sums) {
            guest.advance(period * TICKS, &mut rng);
            *sum += guest.demand();
        }
    }
    sums.iter()
        .map(|sum| sum / f64::from(pool.periods))
        .collect()
}

/// What one guest did in the steady state, and how long it waits.
#[derive(Clone, Debug, Default)]
struct Track {
    /// Cores in use in each interval.
    cores: Vec<f64>,
    interval: f64,
    granted: f64,
    fair: f64,
    active: u32,
    waits: u32,
}

fn simulate(pool: &Pool, mut run: Run<'_>) -> Outcome {
    let steady = window(pool.periods) * TICKS;
    let folding = run.guests.iter().filter(|guest| guest.folds).count();
    let mut tracks = vec![Track::default(); run.guests.len()];
    let mut points = vec![Point::default(); pool.periods as usize];
    let (mut last_off, mut off, mut longest, mut work) = (None, 0.0, 0, 0.0);
    let (mut stolen_sum, mut active_sum, mut below_floor) = (0.0, 0.0, false);
    let mut fair = Vec::new();
    let constant = pool.is_constant();

    for tick in 0..pool.periods * TICKS {
        let before: Vec<u32> = run.guests.iter().map(|guest| guest.active).collect();
        let left = run.tick(tick);
        if tick == 0 || !constant {
            fair = shares(pool, &run.guests, run.guests.iter().map(Guest::demand));
        }
        let (mut used, mut goal, mut stolen, mut active) = (0.0, 0.0, 0.0, 0.0);
        for (at, guest) in run.guests.iter().enumerate() {
            let (wanted, granted) = (guest.wanted(), run.grants[at]);
            let steal = if wanted > 0.0 {
                (wanted - granted) / wanted
            } else {
                0.0
            };
            work += granted / (1.0 + pool.cost * steal) / f64::from(TICKS);
            if !guest.folds {
                continue;
            }
            stolen += wanted - granted;
            active += f64::from(before[at]);
            used += guest.demand().min(f64::from(before[at]));
            goal += fair[at].max(guest.demand().min(f64::from(guest.floor)));
            below_floor |= guest.active < guest.floor;
            let track = &mut tracks[at];
            if tick >= steady {
                track.interval += f64::from(before[at]) / f64::from(TICKS);
                if (tick + 1) % TICKS == 0 {
                    track.cores.push(std::mem::take(&mut track.interval));
                }
                track.granted += granted;
                track.fair += fair[at] * (1.0 - pool.residue);
            }
            let waits = left >= 1.0
                && before[at] < guest.cores
                && guest.demand() >= f64::from(before[at]) + 1.0
                && guest.quota >= granted + 1.0;
            let more = before[at] > track.active;
            track.active = before[at];
            track.waits = if waits && !more { track.waits + 1 } else { 0 };
            longest = longest.max(track.waits);
        }
        off += (used - goal) / f64::from(TICKS);
        if (tick + 1) % TICKS == 0 {
            if off.abs() > folding as f64 + 1e-9 {
                last_off = Some(tick);
            }
            off = 0.0;
        }
        if tick >= steady {
            stolen_sum += stolen;
            active_sum += active;
        }
        let point = &mut points[(tick / TICKS) as usize];
        let part = 1.0 / f64::from(TICKS);
        point.active += active * part;
        point.ends.0 += f64::from(before[0]) * part;
        point.ends.1 += f64::from(before[before.len() - 1]) * part;
        point.steal += if active > 0.0 {
            stolen / active * part
        } else {
            0.0
        };
        point.free += left * part;
        point.goal += goal * part;
        run.govern(tick + 1);
    }

    Outcome {
        settle_periods: settled(last_off, pool.periods),
        amplitude: amplitude(&run.guests, &mut tracks),
        jain: fairness(&run.guests, &tracks),
        steal: if active_sum > 0.0 {
            stolen_sum / active_sum
        } else {
            0.0
        },
        wait_periods: f64::from(longest) / f64::from(TICKS),
        work,
        below_floor,
        points,
    }
}

fn settled(last_off: Option<u32>, periods: u32) -> Option<u32> {
    let Some(tick) = last_off else {
        return Some(0);
    };
    let settled = (tick + 1).div_ceil(TICKS);
    (settled < periods).then_some(settled)
}

/// Half of the range in which the number of cores, averaged over an interval and rounded, is in all intervals
/// but a twentieth. Probes that take a tenth of an interval and single excursions count as steal and as work.
fn amplitude(guests: &[Guest], tracks: &mut [Track]) -> f64 {
    let swing = |track: &mut Track| {
        track.cores.sort_unstable_by(f64::total_cmp);
        let count = track.cores.len();
        let out = count / 40;
        (track.cores[count - 1 - out].round() - track.cores[out].round()) / 2.0
    };
    let folding = guests.iter().zip(tracks).filter(|(guest, _)| guest.folds);
    folding.map(|(_, track)| swing(track)).fold(0.0, f64::max)
}

/// Fairness among guests of one weight, of what each got of what it should have had.
fn fairness(guests: &[Guest], tracks: &[Track]) -> f64 {
    let mut weights: Vec<f64> = guests.iter().map(|guest| guest.weight).collect();
    weights.sort_unstable_by(f64::total_cmp);
    weights.dedup();
    let group = |weight: f64| {
        let got: Vec<f64> = guests
            .iter()
            .zip(tracks)
            .filter(|(guest, track)| guest.folds && guest.weight == weight && track.fair > 0.0)
            .map(|(_, track)| track.granted / track.fair)
            .collect();
        jain(&got)
    };
    weights.into_iter().map(group).fold(1.0, f64::min)
}
