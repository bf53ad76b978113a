// SPDX-License-Identifier: GPL-2.0

//! Runs as pictures.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::{law::Law, report::Row, run::Point};

const FONT: &str = "sans-serif";
const WIDTH: u32 = 1200;
const CHART: u32 = 190;
const TITLE: u32 = 60;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// What a law did in a pool.
pub struct Course {
    /// The figures.
    pub row: Row,
    /// The law.
    pub law: Law,
    /// Interval by interval.
    pub points: Vec<Point>,
}

fn color(law: Law) -> RGBColor {
    match law {
        Law::None => RGBColor(0x99, 0x99, 0x99),
        Law::Srikar => RGBColor(0xc4, 0x45, 0x36),
        Law::StealGovernor => RGBColor(0xe0, 0x9f, 0x3e),
        Law::Hiperdispatch => RGBColor(0x7b, 0x2d, 0x8b),
        Law::Proportional => RGBColor(0x1f, 0x6f, 0x8b),
        Law::Oracle => RGBColor(0x33, 0x33, 0x33),
    }
}

/// Draws cores in use and steal over time, one row of charts for each pool.
pub fn draw_courses(pools: &[Vec<Course>], path: &Path) -> Result<()> {
    let height = TITLE + CHART * pools.len() as u32;
    with_root(path, height, "Over time, in intervals", |body| {
        for (courses, area) in pools.iter().zip(body.split_evenly((pools.len(), 1))) {
            let Some(first) = courses.first() else {
                continue;
            };
            let columns = area.split_evenly((1, 2));
            let cores = |point: &Point| point.active;
            let name = format!("{}: cores in use", first.row.pool);
            chart(&columns[0], &name, courses, &cores)?;
            let steal = |point: &Point| 100.0 * point.steal;
            chart(&columns[1], "steal, % of the time in use", courses, &steal)?;
        }
        Ok(())
    })
}

/// Draws what each law got done, where the best static choice is 1: one line for each pool.
pub fn draw_work(pools: &[Vec<Course>], path: &Path) -> Result<()> {
    let height = TITLE + 40 + 26 * pools.len() as u32;
    let title = "Work done; the best numbers that never change do 1";
    with_root(path, height, title, |body| {
        let rows = pools.len() as f64;
        let most = pools.iter().flatten().map(|course| course.row.work);
        let right = most.fold(1.0, f64::max) * 1.03;
        let mut chart = ChartBuilder::on(body)
            .margin(10)
            .x_label_area_size(26)
            .y_label_area_size(190)
            .build_cartesian_2d(0.0..right, -0.5..rows - 0.5)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(0)
            .label_style((FONT, 13))
            .draw()?;
        for (number, courses) in pools.iter().enumerate() {
            let y = rows - 1.0 - number as f64;
            if let Some(course) = courses.first() {
                let (_, down) = chart.backend_coord(&(0.0, y));
                let style = (FONT, 14).into_text_style(body);
                // The coordinate is that of the whole picture.
                let down = down - TITLE as i32 - 8;
                body.draw_text(&course.row.pool, &style, (20, down))?;
            }
            let mark =
                |course: &Course| Circle::new((course.row.work, y), 5, color(course.law).filled());
            chart.draw_series(courses.iter().map(mark))?;
        }
        Ok(())
    })
}

fn with_root(
    path: &Path,
    height: u32,
    title: &str,
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<()> {
    let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    let all = || -> Drawn {
        root.fill(&WHITE)?;
        let (head, body) = root.split_vertically(TITLE);
        legend(&head, title)?;
        draw(&body)?;
        root.present()?;
        Ok(())
    };
    all().map_err(|error| anyhow!("drawing {}: {error}", path.display()))
}

fn legend(area: &Area<'_>, title: &str) -> Drawn {
    area.draw_text(title, &(FONT, 20).into_text_style(area), (20, 8))?;
    let mut x = 20;
    for law in Law::ALL {
        let bar = Rectangle::new([(x, 44), (x + 18, 50)], color(law).filled());
        area.draw(&bar)?;
        area.draw_text(law.name(), &(FONT, 15).into_text_style(area), (x + 24, 39))?;
        x += 50 + 8 * law.name().len() as i32;
    }
    Ok(())
}

fn chart(
    area: &Area<'_>,
    caption: &str,
    courses: &[Course],
    value: &dyn Fn(&Point) -> f64,
) -> Drawn {
    let all = || courses.iter().flat_map(|course| &course.points);
    let top = all().map(value).fold(1.0, f64::max) * 1.05;
    let periods = courses.iter().map(|course| course.points.len()).max();
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 15))
        .margin(8)
        .x_label_area_size(20)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..periods.unwrap_or(1) as f64, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .y_labels(5)
        .label_style((FONT, 12))
        .draw()?;
    for course in courses {
        let points = course.points.iter().enumerate();
        let line = points.map(|(at, point)| (at as f64, value(point)));
        chart.draw_series(LineSeries::new(line, &color(course.law)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{pool::Pool, run::run};

    fn courses() -> Vec<Vec<Course>> {
        let text = include_str!("../pools/lab-4.toml");
        let pool = Pool::parse(text).unwrap();
        let course = |law| {
            let outcome = run(&pool, law, 1);
            Course {
                row: Row::new(&pool, law, &outcome, outcome.work, 1),
                law,
                points: outcome.points,
            }
        };
        vec![Law::ALL.map(course).into()]
    }

    #[test]
    fn draws_all_laws_of_a_pool() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.svg");
        type Draw = fn(&[Vec<Course>], &Path) -> Result<()>;
        for (draw, text) in [
            (draw_courses as Draw, "lab-4: cores in use"),
            (draw_work, "lab-4"),
        ] {
            draw(&courses(), &path).unwrap();
            let svg = std::fs::read_to_string(&path).unwrap();
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            assert!(svg.contains(text) && Law::ALL.iter().all(|law| svg.contains(law.name())));
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        assert!(draw_work(&courses(), Path::new("/nonexistent/a.svg")).is_err());
    }
}
