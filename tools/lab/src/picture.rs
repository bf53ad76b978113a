// SPDX-License-Identifier: GPL-2.0

//! A run as a picture.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::report::{LoadReport, Point, Report};

const SIZE: (u32, u32) = (1200, 720);
pub const FONT: &str = "sans-serif";
const STOCK: RGBColor = RGBColor(0xc4, 0x45, 0x36);
const COREFOLD: RGBColor = RGBColor(0x1f, 0x6f, 0x8b);

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws `report` into the SVG file `path`: one row for each load; steal, active cores and rounds over time.
pub fn draw(report: &Report, path: &Path) -> Result<()> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    draw_all(report, &root).map_err(|error| anyhow!("drawing {}: {error}", path.display()))
}

fn draw_all(report: &Report, root: &Area<'_>) -> Drawn {
    root.fill(&WHITE)?;
    let (title, body) = root.split_vertically(64);
    title.draw_text(
        &format!(
            "{} guests of {} CPUs contend for {} host CPUs",
            guests(report),
            report.vcpus,
            report.host_cpus
        ),
        &(FONT, 24).into_text_style(&title),
        (20, 10),
    )?;
    legend(&title)?;
    let rows = body.split_evenly((report.loads.iter().count(), 1));
    for (row, (name, load)) in rows.iter().zip(report.loads.iter()) {
        draw_load(name, load, report.vcpus, row)?;
    }
    root.present()?;
    Ok(())
}

fn guests(report: &Report) -> usize {
    report.loads.hackbench.arms.stock.guests.len()
}

fn legend(area: &Area<'_>) -> Drawn {
    for (x, color, text) in [
        (20, STOCK, "stock"),
        (110, COREFOLD, "corefold (one line for each guest and turn)"),
    ] {
        area.draw(&Rectangle::new([(x, 44), (x + 22, 50)], color.filled()))?;
        area.draw_text(text, &(FONT, 15).into_text_style(area), (x + 28, 39))?;
    }
    Ok(())
}

fn draw_load(name: &str, load: &LoadReport, vcpus: usize, row: &Area<'_>) -> Drawn {
    let columns = row.split_evenly((1, 3));
    let right = load.seconds as f64;
    let steal = |point: &Point| point.steal_pct;
    let caption = format!("{name}: steal, % of active time");
    chart(&columns[0], &caption, (right, 100.0), lines(load), &steal)?;
    let top = vcpus as f64 + 0.5;
    let cores = |point: &Point| Some(point.active_cores as f64);
    chart(
        &columns[1],
        "CPUs in use",
        (right, top),
        lines(load),
        &cores,
    )?;
    let top = most_rounds(lines(load).flat_map(|(_, points)| points));
    let rounds = |point: &Point| Some(point.rounds as f64);
    let caption = format!("rounds: corefold does {:.2} times as much", load.ratio);
    chart(&columns[2], &caption, (right, top), lines(load), &rounds)
}

/// The series of each guest and slot.
fn lines(load: &LoadReport) -> impl Iterator<Item = (RGBColor, &[Point])> {
    let arms = [(STOCK, &load.arms.stock), (COREFOLD, &load.arms.corefold)];
    arms.into_iter().flat_map(|(color, report)| {
        let slots = report.guests.iter().flat_map(|guest| &guest.slots);
        slots.map(move |slot| (color, slot.series.as_slice()))
    })
}

/// Draws lines of `value` over the time since a load began, up to `right` seconds and `top`.
pub fn chart<'a>(
    area: &Area<'_>,
    caption: &str,
    (right, top): (f64, f64),
    lines: impl Iterator<Item = (RGBColor, &'a [Point])>,
    value: &dyn Fn(&Point) -> Option<f64>,
) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 17))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("seconds since the load began")
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .label_style((FONT, 13))
        .draw()?;
    for (color, points) in lines {
        let points = points
            .iter()
            .filter_map(|point| Some((point.t, value(point)?)));
        chart.draw_series(LineSeries::new(points, color.mix(0.8).stroke_width(2)))?;
    }
    Ok(())
}

/// The top of a chart of rounds.
pub fn most_rounds<'a>(points: impl Iterator<Item = &'a Point>) -> f64 {
    points.map(|point| point.rounds).max().unwrap_or(0).max(1) as f64 * 1.05
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_a_report() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("demo.svg");
        draw(&crate::report::tests::report(), &path).unwrap();
        let svg = std::fs::read_to_string(path).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("2.50 times"));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        let report = crate::report::tests::report();
        assert!(draw(&report, Path::new("/nonexistent/demo.svg")).is_err());
    }
}
