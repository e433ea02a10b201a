//! Fits a line through the origin by least squares, as both scaling laws require.
//!
//! ```text
//! slope = sum(x y) / sum(x x)
//! variance of the slope = sum((y - slope x)^2) / (m - 1) / sum(x x)      m: points
//! ```

use super::super::noise::t_quantile_975;

/// Returns the slope of the line through `(x, y)`, and half of its 95 % confidence interval by Student's t with `m - 1` degrees
/// of freedom. The interval is `None` for one point, because the line fits it exactly. Returns `None` if all points are at the
/// origin.
pub(super) fn through_origin(points: &[(f64, f64)]) -> Option<(f64, Option<f64>)> {
    let xx: f64 = points.iter().map(|(x, _)| x * x).sum();
    let slope = points.iter().map(|(x, y)| x * y).sum::<f64>() / xx;
    if xx <= 0.0 || !slope.is_finite() {
        return None;
    }
    let freedom = points.len() as f64 - 1.0;
    let squares: f64 = points.iter().map(|(x, y)| (y - slope * x) * (y - slope * x)).sum();
    let margin = (freedom >= 1.0).then(|| t_quantile_975(freedom) * (squares / freedom / xx).sqrt());
    Some((slope, margin))
}
