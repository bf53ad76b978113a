// SPDX-License-Identifier: GPL-2.0

//! A bench as pictures.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::bench::arm::STOCK;
use crate::bench::report::{Report, Row, Spread, Trial};
use crate::picture::{Area, Drawn, FONT, chart, most_rounds};
use crate::report::Point;

/// One for each arm, in their order; more arms start over.
const COLORS: [RGBColor; 7] = [
    RGBColor(0x77, 0x77, 0x77),
    RGBColor(0xc4, 0x45, 0x36),
    RGBColor(0xe0, 0x9f, 0x3e),
    RGBColor(0x1f, 0x6f, 0x8b),
    RGBColor(0x33, 0x33, 0x33),
    RGBColor(0x7b, 0x2d, 0x8b),
    RGBColor(0x4f, 0x77, 0x2d),
];

/// Draws `report` into two SVG files: all ratios to stock, and what happens from the onset of a load.
pub fn draw(report: &Report, ratios: &Path, onset: &Path) -> Result<()> {
    let failed = |path: &Path, error| anyhow!("drawing {}: {error}", path.display());
    let height = 110 + 30 * report.rows.len() as u32;
    let root = SVGBackend::new(ratios, (1200, height)).into_drawing_area();
    draw_ratios(report, &root).map_err(|error| failed(ratios, error))?;

    let trials = onsets(report);
    let height = 70 + 230 * trials.len() as u32;
    let root = SVGBackend::new(onset, (1200, height)).into_drawing_area();
    draw_onsets(report, &trials, &root).map_err(|error| failed(onset, error))
}

fn color(arm: usize) -> RGBColor {
    COLORS[arm % COLORS.len()]
}

fn legend(report: &Report, title: &str, area: &Area<'_>) -> Drawn {
    let heading = (FONT, 20).into_text_style(area);
    area.draw_text(title, &heading, (20, 8))?;
    let mut x = 20;
    for (index, arm) in report.arms().enumerate() {
        area.draw(&Rectangle::new(
            [(x, 44), (x + 18, 50)],
            color(index).filled(),
        ))?;
        area.draw_text(arm, &(FONT, 15).into_text_style(area), (x + 24, 39))?;
        x += 50 + 8 * arm.len() as i32;
    }
    Ok(())
}

/// One line for each row, one mark for each arm: the median and, as a bar, the span of the repeats. To the right is better.
fn draw_ratios(report: &Report, root: &Area<'_>) -> Drawn {
    root.fill(&WHITE)?;
    let (title, body) = root.split_vertically(64);
    legend(
        report,
        "How much better than stock, from the onset of the load",
        &title,
    )?;
    let (low, high) = bounds(report);
    let rows = report.rows.len();
    let mut chart = ChartBuilder::on(&body)
        .margin(10)
        .margin_right(30)
        .x_label_area_size(30)
        .y_label_area_size(220)
        .build_cartesian_2d(low.log2()..high.log2(), -0.5..rows as f64 - 0.5)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(12)
        .x_label_formatter(&|x| format!("{:.2}", x.exp2()))
        .y_labels(0)
        .label_style((FONT, 13))
        .draw()?;
    chart.draw_series(LineSeries::new(
        [(0.0, -0.5), (0.0, rows as f64 - 0.5)],
        color(0).stroke_width(2),
    ))?;
    for (number, row) in report.rows.iter().enumerate() {
        let middle = (rows - 1 - number) as f64;
        let (_, y) = chart.backend_coord(&(0.0, middle));
        let label = format!("{:>2} CPUs {}", row.vcpus, row.name);
        let style = (FONT, 14).into_text_style(root);
        root.draw_text(&label, &style, (20, y - 8))?;
        for (index, spread) in spreads(row) {
            let offset = 0.36 - 0.72 * (index as f64 + 0.5) / row.arms.len() as f64;
            let at = |ratio: f64| (ratio.clamp(low, high).log2(), middle + offset);
            let bar = [at(spread.min), at(spread.max)];
            chart.draw_series(LineSeries::new(bar, color(index).stroke_width(2)))?;
            let mark = Circle::new(at(spread.median), 4, color(index).filled());
            chart.draw_series([mark])?;
        }
    }
    root.present()?;
    Ok(())
}

/// The arms of a row, but for stock itself.
fn spreads(row: &Row) -> impl Iterator<Item = (usize, &Spread)> {
    let arms = row.arms.iter().enumerate();
    arms.filter(|(_, cell)| cell.arm != STOCK)
        .filter_map(|(index, cell)| Some((index, cell.whole.to_stock.as_ref()?)))
}

/// What the scale has to hold.
fn bounds(report: &Report) -> (f64, f64) {
    let all = || report.rows.iter().flat_map(spreads);
    let low = all().map(|(_, spread)| spread.min).fold(0.9, f64::min);
    let high = all().map(|(_, spread)| spread.max).fold(1.1, f64::max);
    (low.max(0.02) * 0.95, high.min(50.0) * 1.05)
}

/// The first trial of each size.
fn onsets(report: &Report) -> Vec<&Trial> {
    let mut trials: Vec<&Trial> = Vec::new();
    for trial in &report.trials {
        if trials.iter().all(|seen| seen.vcpus != trial.vcpus) {
            trials.push(trial);
        }
    }
    trials
}

fn draw_onsets(report: &Report, trials: &[&Trial], root: &Area<'_>) -> Drawn {
    root.fill(&WHITE)?;
    let (title, body) = root.split_vertically(64);
    legend(
        report,
        "From the onset of a load: one line for each guest and repeat",
        &title,
    )?;
    let areas = body.split_evenly((trials.len().max(1), 1));
    for (trial, area) in trials.iter().zip(&areas) {
        let columns = area.split_evenly((1, 3));
        let right = report.seconds as f64;
        let name = format!("{} CPUs, {}: cores in use", trial.vcpus, trial.load);
        let top = trial.vcpus as f64 + 0.5;
        let cores = |point: &Point| Some(point.active_cores as f64);
        chart(&columns[0], &name, (right, top), lines(trial), &cores)?;
        let name = "steal, % of active time";
        let steal = |point: &Point| point.steal_pct;
        chart(&columns[1], name, (right, 100.0), lines(trial), &steal)?;
        let top = most_rounds(lines(trial).flat_map(|(_, points)| points));
        let rounds = |point: &Point| Some(point.rounds as f64);
        chart(&columns[2], "rounds", (right, top), lines(trial), &rounds)?;
    }
    root.present()?;
    Ok(())
}

/// The series of each arm, guest and repeat.
fn lines(trial: &Trial) -> impl Iterator<Item = (RGBColor, &[Point])> {
    let arms = trial.arms.iter().enumerate();
    arms.flat_map(|(index, (_, outcomes))| {
        let slots = outcomes.iter().flat_map(|outcome| &outcome.guests);
        slots.map(move |slot| (color(index), slot.series.as_slice()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_a_report() {
        let dir = tempfile::tempdir().unwrap();
        let (ratios, onset) = (dir.path().join("a.svg"), dir.path().join("b.svg"));
        draw(&crate::bench::report::tests::report(), &ratios, &onset).unwrap();
        let svg = std::fs::read_to_string(ratios).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("4 CPUs compute") && svg.contains("step-srikar"));
        let svg = std::fs::read_to_string(onset).unwrap();
        assert!(svg.contains("4 CPUs, lock: cores in use"));
    }

    #[test]
    fn the_scale_holds_everything() {
        let (low, high) = bounds(&crate::bench::report::tests::report());
        assert!(low < 0.5 && high > 4.0, "{low} {high}");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        let report = crate::bench::report::tests::report();
        let nowhere = Path::new("/nonexistent/a.svg");
        assert!(draw(&report, nowhere, nowhere).is_err());
    }
}
