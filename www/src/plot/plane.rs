//! Geometry of points and lines on two axes: positions, clipping, and the point nearest to the pointer.
//!
//! Positions are fractions of the plane's width and height, from its upper left corner.

use super::scale::Scale;

/// A plane with two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// Horizontal axis, increasing to the right.
    pub x: Scale,
    /// Vertical axis, increasing upwards.
    pub y: Scale,
}

/// A position in the plane.
pub type Place = (f64, f64);

impl Plane {
    /// Creates a plane that shows all points and all corners of lines, with as little empty space as possible.
    pub fn of(points: &[(f64, f64)], lines: &[Vec<(f64, f64)>], logarithmic: bool) -> Plane {
        let shown = || points.iter().chain(lines.iter().flatten());
        let x = Scale::covering(shown().map(|point| point.0), logarithmic);
        let y = Scale::covering(shown().map(|point| point.1), logarithmic);
        Plane { x, y }
    }

    /// Returns the position of a point, or `None` if the axes cannot show it.
    pub fn place(&self, point: (f64, f64)) -> Option<Place> {
        Some((self.x.at(point.0)?, 1.0 - self.y.at(point.1)?))
    }

    /// Returns the visible segments of a line, each with its two ends.
    pub fn pieces(&self, line: &[(f64, f64)]) -> Vec<(Place, Place)> {
        let places: Vec<Place> = line.iter().filter_map(|corner| self.place(*corner)).collect();
        places.windows(2).filter_map(|pair| clip(*pair.first()?, *pair.get(1)?)).collect()
    }
}

/// Clips a segment to the unit square with the algorithm of Liang and Barsky. `enters` and `leaves` are fractions of the
/// segment's length.
fn clip(from: Place, to: Place) -> Option<(Place, Place)> {
    let way = (to.0 - from.0, to.1 - from.1);
    let (mut enters, mut leaves) = (0.0f64, 1.0f64);
    for (speed, room) in [(-way.0, from.0), (way.0, 1.0 - from.0), (-way.1, from.1), (way.1, 1.0 - from.1)] {
        if speed == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if speed < 0.0 {
            enters = enters.max(room / speed);
        } else {
            leaves = leaves.min(room / speed);
        }
    }
    let at = |share: f64| (from.0 + share * way.0, from.1 + share * way.1);
    (enters < leaves).then(|| (at(enters), at(leaves)))
}

/// Returns the index of the point nearest to the pointer, if that point is at most `reach_px` away. `size_px` is the
/// size of the plane.
pub fn nearest(places: &[Option<Place>], pointer_px: (f64, f64), size_px: (f64, f64), reach_px: f64) -> Option<usize> {
    let distance = |place: &Option<Place>| {
        let (x, y) = (*place)?;
        let (dx, dy) = (x * size_px.0 - pointer_px.0, y * size_px.1 - pointer_px.1);
        Some(dx * dx + dy * dy)
    };
    let all = places.iter().enumerate().filter_map(|(index, place)| Some((index, distance(place)?)));
    let near = all.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (near.1 <= reach_px * reach_px).then_some(near.0)
}

/// Returns the index of the first rectangle that contains the position `at`. Each rectangle extends from its place to
/// its upper right corner in `far`. Points without a corner in `far` are not rectangles.
pub fn inside(places: &[Option<Place>], far: &[Option<Place>], at: Place) -> Option<usize> {
    let is_in = |(near, far): (&Option<Place>, &Option<Place>)| {
        let (Some(near), Some(far)) = (near, far) else { return false };
        (near.0..=far.0).contains(&at.0) && (far.1..=near.1).contains(&at.1)
    };
    places.iter().zip(far).position(is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Place, b: Place) -> bool {
        (a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9
    }

    #[test]
    fn lines_end_at_the_edge() {
        let scale = Scale { min: 1.0, max: 100.0, logarithmic: true };
        let plane = Plane { x: scale.clone(), y: scale };
        let pieces = plane.pieces(&[(0.01, 0.01), (10.0, 10.0), (1e6, 10.0)]);
        assert_eq!(pieces.len(), 2);
        assert!(close(pieces[0].0, (0.0, 1.0)) && close(pieces[0].1, (0.5, 0.5)));
        assert!(close(pieces[1].1, (1.0, 0.5)));
        assert!(plane.pieces(&[(0.01, 200.0), (1000.0, 200.0)]).is_empty());
    }

    #[test]
    fn points_and_whole_lines_are_visible() {
        let plane = Plane::of(&[(2.0, 3.0)], &[vec![(1.0, 1.0), (300.0, 300.0), (900.0, 300.0)]], true);
        assert!(plane.x.min < 1.0 && (900.0..2e3).contains(&plane.x.max), "{plane:?}");
        assert!(plane.y.min < 1.0 && (300.0..1e3).contains(&plane.y.max), "{plane:?}");
    }

    #[test]
    fn a_pointer_selects_the_rectangle_below_it() {
        let (places, far) = ([Some((0.1, 0.9)), Some((0.5, 0.5))], [None, Some((0.8, 0.2))]);
        assert_eq!(inside(&places, &far, (0.6, 0.3)), Some(1));
        assert_eq!(inside(&places, &far, (0.6, 0.6)), None);
    }

    #[test]
    fn a_pointer_snaps_to_the_nearest_point() {
        let places = [Some((0.1, 0.1)), None, Some((0.9, 0.9))];
        assert_eq!(nearest(&places, (88.0, 45.0), (100.0, 50.0), 10.0), Some(2));
        assert_eq!(nearest(&places, (50.0, 25.0), (100.0, 50.0), 10.0), None);
    }
}
