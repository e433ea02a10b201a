//! Assigns numbers to labels that many rows share, so that tables can filter and sort by number instead of by text.

/// Labels with consecutive numbers, starting at a given number. 0 means no label.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    first: u32,
    text: String,
    ends: Vec<usize>,
}

impl Labels {
    /// Creates an empty set of labels. The first label will have the number `first`.
    pub fn new(first: u32) -> Labels {
        Labels { first, ..Labels::default() }
    }

    /// Returns the number of a label. Adds the label if it is new.
    pub fn number(&mut self, label: Option<&str>) -> u32 {
        let Some(label) = label.filter(|label| !label.is_empty()) else { return 0 };
        self.find(label).unwrap_or_else(|| {
            self.text.push_str(label);
            self.ends.push(self.text.len());
            self.first.saturating_add(u32::try_from(self.ends.len() - 1).unwrap_or_default())
        })
    }

    /// Returns the number of a label, or `None` if it is unknown.
    pub fn find(&self, label: &str) -> Option<u32> {
        let at = (0..self.ends.len()).find(|&at| self.at(at) == label)?;
        Some(self.first.saturating_add(u32::try_from(at).ok()?))
    }

    /// Returns the label with this number, or `None` for 0.
    pub fn get(&self, number: u32) -> Option<&str> {
        let at = number.checked_sub(self.first).filter(|_| number > 0)?;
        Some(self.at(at as usize)).filter(|label| !label.is_empty())
    }

    fn at(&self, at: usize) -> &str {
        let end = self.ends.get(at).copied().unwrap_or_default();
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the concatenated labels, and the offset at which each label ends.
    pub fn table(&self) -> (&str, &[usize]) {
        (&self.text, &self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_one_number_and_none_has_zero() {
        let mut labels = Labels::new(7);
        let numbers = [Some("HBM"), None, Some("Compute"), Some("HBM"), Some("")].map(|label| labels.number(label));
        assert_eq!(numbers, [7, 0, 8, 7, 0]);
        assert_eq!([7, 8, 9, 0].map(|number| labels.get(number)), [Some("HBM"), Some("Compute"), None, None]);
        assert_eq!(labels.table(), ("HBMCompute", &[3, 10][..]));
    }
}
