// SPDX-License-Identifier: GPL-2.0

//! A run as a picture.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::report::{Arm, LoadReport, Point, Report};

const SIZE: (u32, u32) = (1200, 720);
const FONT: &str = "sans-serif";
const STOCK: RGBColor = RGBColor(0xc4, 0x45, 0x36);
const COREFOLD: RGBColor = RGBColor(0x1f, 0x6f, 0x8b);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws `report` into the SVG file `path`: one row for each load; steal, active cores and rounds over time.
pub fn draw(report: &Report, path: &Path) -> Result<()> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    draw_all(report, &root).map_err(|error| anyhow!("drawing {}: {error}", path.display()))
}

fn draw_all(report: &Report, root: &Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
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

fn legend(area: &Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
    for (x, color, text) in [
        (20, STOCK, "stock"),
        (110, COREFOLD, "corefold (one line for each guest and turn)"),
    ] {
        area.draw(&Rectangle::new([(x, 44), (x + 22, 50)], color.filled()))?;
        area.draw_text(text, &(FONT, 15).into_text_style(area), (x + 28, 39))?;
    }
    Ok(())
}

fn draw_load(
    name: &str,
    load: &LoadReport,
    vcpus: usize,
    row: &Area<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let columns = row.split_evenly((1, 3));
    let steal = |point: &Point| point.steal_pct;
    chart(
        load,
        &format!("{name}: steal, % of active time"),
        100.0,
        &steal,
        &columns[0],
    )?;
    let cores = |point: &Point| Some(point.active_cores as f64);
    chart(load, "CPUs in use", vcpus as f64 + 0.5, &cores, &columns[1])?;
    let most = lines(load)
        .flat_map(|(_, points)| points)
        .map(|point| point.rounds)
        .max();
    let rounds = |point: &Point| Some(point.rounds as f64);
    let caption = format!("rounds: corefold does {:.2} times as much", load.ratio);
    chart(
        load,
        &caption,
        most.unwrap_or(0).max(1) as f64 * 1.05,
        &rounds,
        &columns[2],
    )?;
    Ok(())
}

/// The series of each guest and slot.
fn lines(load: &LoadReport) -> impl Iterator<Item = (Arm, &[Point])> {
    let arms = [
        (Arm::Stock, &load.arms.stock),
        (Arm::Corefold, &load.arms.corefold),
    ];
    arms.into_iter().flat_map(|(arm, report)| {
        let slots = report.guests.iter().flat_map(|guest| &guest.slots);
        slots.map(move |slot| (arm, slot.series.as_slice()))
    })
}

fn chart(
    load: &LoadReport,
    caption: &str,
    top: f64,
    value: &dyn Fn(&Point) -> Option<f64>,
    area: &Area<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 17))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..load.seconds as f64, 0.0..top)?;
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
    for (arm, points) in lines(load) {
        let color = match arm {
            Arm::Stock => STOCK,
            Arm::Corefold => COREFOLD,
        };
        let points = points
            .iter()
            .filter_map(|point| Some((point.t, value(point)?)));
        chart.draw_series(LineSeries::new(points, color.mix(0.8).stroke_width(2)))?;
    }
    Ok(())
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
