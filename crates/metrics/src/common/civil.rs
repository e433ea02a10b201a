//! Computes dates of the Gregorian calendar from Unix time, without a clock or a time zone.

/// Formats nanoseconds since 1970 as `2026-05-20T08:45:02.889Z`.
pub(crate) fn iso_8601_utc(unix_ns: i64) -> String {
    let milliseconds = unix_ns.div_euclid(1_000_000);
    let (days, in_day) = (milliseconds.div_euclid(86_400_000), milliseconds.rem_euclid(86_400_000));
    let (year, month, day) = date_of(days);
    let (seconds, millisecond) = (in_day / 1000, in_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

/// Returns the time in a profile folder's name, `2026_05_20_08_45_02`, as `2026-05-20T08:45:02`. The result has no time
/// zone, because it is the local time of the capturing machine. Returns `None` for any other name and for dates that do
/// not exist.
pub(crate) fn iso_8601_of_run_name(name: &str) -> Option<String> {
    let fields: Vec<&str> = name.split('_').collect();
    let widths_fit = fields.iter().map(|field| field.len()).eq([4, 2, 2, 2, 2, 2]);
    let numbers: Option<Vec<u16>> =
        fields.iter().map(|field| field.parse().ok().filter(|_| field.bytes().all(|b| b.is_ascii_digit()))).collect();
    let (Some(&[year, month, day, hour, minute, second]), true) = (numbers.as_deref(), widths_fit) else {
        return None;
    };
    let month_length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(i64::from(year)) => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    let exists = (1..=month_length).contains(&day) && hour < 24 && minute < 60 && second < 61;
    exists.then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"))
}

/// Converts a number of days since 1970-01-01 to year, month and day.
///
/// The calculation splits the days into cycles of 400 years, and each cycle into years that begin in March. The leap
/// day is then the last day of a year, and a fixed formula gives the first day of each month: from March on, every five
/// months have 153 days.
fn date_of(days: i64) -> (i64, i64, i64) {
    const CYCLE: i64 = 146_097;
    // Days since 0000-03-01.
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (cycle * 400 + year + next_year, month, day_of_month)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        // Expected dates come from `date -u -d @N` of GNU coreutils.
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_078_099_200, "2004-03-01T00:00:00.000Z"),
            (1_779_266_702, "2026-05-20T08:45:02.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(iso_8601_utc(seconds * 1_000_000_000), date);
        }
        assert_eq!(iso_8601_utc(1_779_266_702_889_805_563), "2026-05-20T08:45:02.889Z");
        assert!(!iso_8601_utc(i64::MAX).is_empty() && !iso_8601_utc(i64::MIN).is_empty());
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut last = date_of(-800_000);
        for days in -799_999..800_000 {
            let (year, month, day) = date_of(days);
            let next_day = last.0 == year && last.1 == month && last.2 + 1 == day;
            let next_month = last.0 == year && last.1 + 1 == month && day == 1 && last.2 >= 28;
            let next_year = last.0 + 1 == year && (last.1, last.2) == (12, 31) && (month, day) == (1, 1);
            let leap_day = (month, day) != (2, 29) || is_leap(year);
            assert!((next_day || next_month || next_year) && leap_day, "{last:?} -> {year}-{month}-{day}");
            last = (year, month, day);
        }
    }

    #[test]
    fn run_names_are_dates_only_where_they_look_like_it() {
        assert_eq!(iso_8601_of_run_name("2026_05_20_08_45_02").as_deref(), Some("2026-05-20T08:45:02"));
        for other in ["2026_13_20_08_45_02", "2026_02_29_08_45_02", "2026_05_20_08_45", "run-a", "+026_05_20_08_45_02"]
        {
            assert_eq!(iso_8601_of_run_name(other), None, "{other}");
        }
    }
}
