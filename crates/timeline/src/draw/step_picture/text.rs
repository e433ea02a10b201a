//! The text form of a step's picture, which messages and reports contain.
//!
//! ```text
//! step, length in ps, device                   fields are separated by tabs
//! =name, op, family                            one line per name
//! #line                                        one line per lane; then its marks:
//! gap before it, length, name[, busy time]     times in ps; name is an index; busy time only if less than the length
//! ```

use std::fmt;

use base::Ps;

use super::{MarkName, StepLane, StepMark, StepPicture};

impl fmt::Display for StepPicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}\t{}", self.step, self.length.as_ps(), self.device)?;
        for MarkName { name, op, family } in &self.names {
            write!(f, "\n={name}\t{op}\t{family}")?;
        }
        for StepLane { line, marks } in &self.lanes {
            write!(f, "\n#{line}")?;
            let mut end = Ps::ZERO;
            for mark in marks {
                let (gap, length) = ((mark.start - end).as_ps(), mark.length.as_ps());
                write!(f, "\n{gap}\t{length}\t{}", mark.name)?;
                if mark.busy != mark.length {
                    write!(f, "\t{}", mark.busy.as_ps())?;
                }
                end = mark.start + mark.length;
            }
        }
        Ok(())
    }
}

impl StepPicture {
    /// Parses a text. Returns `None` if the text is damaged.
    pub fn parse(text: &str) -> Option<StepPicture> {
        let mut lines = text.lines();
        let mut head = lines.next()?.split('\t');
        let step = head.next()?.to_owned();
        let length = time(head.next()?).filter(|length| *length > Ps::ZERO)?;
        let device = head.next()?.to_owned();
        let mut picture = StepPicture { step, device, length, ..StepPicture::default() };
        let mut end = Ps::ZERO;
        for line in lines {
            let mut fields = line.get(1..)?.split('\t').map(str::to_owned);
            match line.as_bytes().first()? {
                b'=' => {
                    let (name, op, family) = (fields.next()?, fields.next()?, fields.next()?);
                    picture.names.push(MarkName { name, op, family });
                }
                b'#' => {
                    picture.lanes.push(StepLane { line: fields.next()?, marks: Vec::new() });
                    end = Ps::ZERO;
                }
                _ => {
                    let mut fields = line.split('\t');
                    let start = end + time(fields.next()?)?;
                    let length = time(fields.next()?)?;
                    let name = fields.next()?.parse().ok().filter(|name| *name < picture.names.len())?;
                    let busy = fields.next().map_or(Some(length), time).filter(|busy| *busy <= length)?;
                    end = Some(start + length).filter(|end| *end <= picture.length)?;
                    picture.lanes.last_mut()?.marks.push(StepMark { start, length, busy, name });
                }
            }
        }
        Some(picture)
    }
}

/// Parses a time. Returns `None` if the time is negative, or so large that a sum of times could overflow.
fn time(text: &str) -> Option<Ps> {
    text.parse().ok().filter(|ps| (0..=i64::MAX / 4).contains(ps)).map(Ps::new)
}
