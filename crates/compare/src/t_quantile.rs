//! Quantiles of Student's t distribution: how many standard errors the mean of a small number of values may be from the true
//! mean.

/// Row of the table: degrees of freedom, and the quantiles at 97.5 % and at 99.95 %.
type Row = (f64, f64, f64);

const TABLE: [Row; 27] = [
    (1.0, 12.706, 636.619),
    (2.0, 4.303, 31.599),
    (3.0, 3.182, 12.924),
    (4.0, 2.776, 8.610),
    (5.0, 2.571, 6.869),
    (6.0, 2.447, 5.959),
    (7.0, 2.365, 5.408),
    (8.0, 2.306, 5.041),
    (9.0, 2.262, 4.781),
    (10.0, 2.228, 4.587),
    (11.0, 2.201, 4.437),
    (12.0, 2.179, 4.318),
    (13.0, 2.160, 4.221),
    (14.0, 2.145, 4.140),
    (15.0, 2.131, 4.073),
    (16.0, 2.120, 4.015),
    (17.0, 2.110, 3.965),
    (18.0, 2.101, 3.922),
    (19.0, 2.093, 3.883),
    (20.0, 2.086, 3.850),
    (25.0, 2.060, 3.725),
    (30.0, 2.042, 3.646),
    (40.0, 2.021, 3.551),
    (60.0, 2.000, 3.460),
    (120.0, 1.980, 3.373),
    (1000.0, 1.962, 3.300),
    (f64::INFINITY, 1.960, 3.291),
];

/// Quantile of the normal distribution at 80 %. A difference that is proven in four out of five attempts is this many
/// standard errors larger than a difference that is just proven.
pub(crate) const NORMAL_80: f64 = 0.842;

/// Returns the quantile `q` at 97.5 %: 95 % of values are between `-q` and `q`.
pub fn t_quantile_975(df: f64) -> f64 {
    quantile(df, |row| row.1)
}

/// Returns the quantile `q` at 99.95 %: 99.9 % of values are between `-q` and `q`. A report makes many tests. If a
/// report tests 100 pairs of values that do not differ, the probability that at least one of them exceeds `q` is one in
/// ten.
pub(crate) fn t_quantile_9995(df: f64) -> f64 {
    quantile(df, |row| row.2)
}

/// Interpolates linearly in `1 / df` between the rows of the table. Below one degree of freedom, uses the row for 1.
fn quantile(df: f64, column: fn(&Row) -> f64) -> f64 {
    let mut before = TABLE[0];
    for row in TABLE {
        if df <= row.0 {
            let (low, high) = (1.0 / before.0, 1.0 / row.0);
            let share = if low > high { (low - 1.0 / df.max(1.0)) / (low - high) } else { 0.0 };
            return column(&before) + (column(&row) - column(&before)) * share;
        }
        before = row;
    }
    column(&before)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: `scipy.stats.t.ppf`.
    #[test]
    fn the_quantiles_follow_the_table() {
        for (df, t) in
            [(1.0, 12.706), (4.0, 2.776), (30.0, 2.042), (1e9, 1.960), (0.5, 12.706), (22.0, 2.074), (50.0, 2.009)]
        {
            assert!((t_quantile_975(df) - t).abs() < 0.004, "{df}: {}", t_quantile_975(df));
        }
        for (df, t) in [(1.0, 636.619), (8.0, 5.041), (22.0, 3.792), (35.0, 3.591), (1e9, 3.291)] {
            assert!((t_quantile_9995(df) - t).abs() < 0.01, "{df}: {}", t_quantile_9995(df));
        }
    }
}
