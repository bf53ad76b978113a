// SPDX-License-Identifier: GPL-2.0

//! `corefold-sim`: compares laws on pools.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::Parser;
use corefold_sim::{
    law::Law,
    pool::Pool,
    report::{Row, head},
    run::run,
};

/// Simulate guests that share a pool of CPUs and fold by a law.
#[derive(Parser)]
struct Options {
    /// Descriptions of pools
    #[arg(required = true)]
    pools: Vec<PathBuf>,
    /// The seed of all that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Laws to compare; all, unless some are named
    #[arg(long, value_enum)]
    law: Vec<Law>,
    /// Where to write the results
    #[arg(long)]
    json: Option<PathBuf>,
    /// Print a pool's course over time
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    match simulate(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("corefold-sim: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn simulate(options: &Options) -> Result<()> {
    let laws = if options.law.is_empty() {
        &Law::ALL[..]
    } else {
        &options.law
    };
    let mut rows = Vec::new();
    println!("{}", head());
    for path in &options.pools {
        let text =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let pool = Pool::parse(&text).with_context(|| format!("in {}", path.display()))?;
        let best = run(&pool, Law::Oracle, options.seed);
        for &law in laws {
            let outcome = if law == Law::Oracle {
                best.clone()
            } else {
                run(&pool, law, options.seed)
            };
            let row = Row::new(&pool, law, &outcome, best.work, options.seed);
            println!("{}", row.line());
            if options.trace {
                for (at, point) in outcome.points.iter().enumerate() {
                    println!("{at} {point:.2?}");
                }
            }
            rows.push(row);
        }
    }
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(&rows)?)
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}
