// SPDX-License-Identifier: GPL-2.0

//! `corefold-sim`: compares laws on pools.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Parser;
use corefold_sim::{
    law::Law,
    picture::{Course, draw_courses, draw_work},
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
    /// Write the results to sim.json and pictures to sim-*.svg in this directory
    #[arg(long)]
    results: Option<PathBuf>,
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
    println!("{}", head());
    let mut pools = Vec::new();
    for path in &options.pools {
        let text =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let pool = Pool::parse(&text).with_context(|| format!("in {}", path.display()))?;
        pools.push(compare(&pool, options));
    }
    if let Some(directory) = &options.results {
        write(&pools, directory)?;
    }
    Ok(())
}

/// Runs a pool under each law.
fn compare(pool: &Pool, options: &Options) -> Vec<Course> {
    let laws = if options.law.is_empty() {
        &Law::ALL[..]
    } else {
        &options.law
    };
    let best = run(pool, Law::Oracle, options.seed);
    let course = |&law: &Law| {
        let outcome = if law == Law::Oracle {
            best.clone()
        } else {
            run(pool, law, options.seed)
        };
        let row = Row::new(pool, law, &outcome, best.work, options.seed);
        println!("{}", row.line());
        if options.trace {
            for (at, point) in outcome.points.iter().enumerate() {
                println!("{at} {point:.2?}");
            }
        }
        Course {
            row,
            law,
            points: outcome.points,
        }
    };
    laws.iter().map(course).collect()
}

fn write(pools: &[Vec<Course>], directory: &Path) -> Result<()> {
    let rows: Vec<&Row> = pools.iter().flatten().map(|course| &course.row).collect();
    let json = directory.join("sim.json");
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&json, serde_json::to_string_pretty(&rows)?))
        .with_context(|| format!("writing {}", json.display()))?;
    draw_courses(pools, &directory.join("sim-courses.svg"))?;
    draw_work(pools, &directory.join("sim-work.svg"))
}
