//! The allowed licences, and the location of their texts.

use crate::{Result, cache};
use std::path::Path;

/// A licence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Licence {
    /// SPDX name of the licence.
    pub name: &'static str,
    /// Words that occur only in the text of this licence.
    words: &'static str,
}

/// Allowed licences, in order of preference. deny.toml lists the same licences.
pub(super) const ALLOWED: [Licence; 8] = [
    Licence { name: "Apache-2.0", words: "Apache License" },
    Licence { name: "MIT", words: "Permission is hereby granted, free of charge" },
    Licence { name: "Zlib", words: "This software is provided 'as-is'" },
    Licence { name: "BSD-2-Clause", words: "Redistribution and use in source and binary forms" },
    Licence { name: "BSD-3-Clause", words: "Redistribution and use in source and binary forms" },
    Licence { name: "BSL-1.0", words: "Boost Software License" },
    Licence { name: "ISC", words: "Permission to use, copy, modify, and" },
    Licence { name: "Unicode-3.0", words: "UNICODE LICENSE V3" },
];

/// Text for packages that declare the MIT licence but contain no licence text.
const MIT: &str = include_str!("mit.txt");

impl Licence {
    /// Returns the licences that apply to a package. Of licences that are joined by `OR`, only the first allowed
    /// licence applies. Of licences that are joined by `AND`, all apply.
    pub(super) fn of_expression(expression: &str) -> Result<Vec<Licence>> {
        let alternatives = |part: &str| {
            let names: Vec<&str> = part.split(" OR ").flat_map(|name| name.split('/')).map(str::trim).collect();
            ALLOWED.into_iter().find(|licence| names.contains(&licence.name))
        };
        // Parentheses enclose alternatives: (MIT OR Apache-2.0) AND Unicode-3.0.
        let chosen = expression.split(" AND ").map(|part| alternatives(part.trim_matches(['(', ')'])));
        chosen.collect::<Option<Vec<_>>>().ok_or_else(|| format!("its licence ({expression}) is not allowed."))
    }

    /// Returns the package's text for this licence. All packages share one text of Apache-2.0, because that text names
    /// no copyright holder.
    pub(super) fn text_in(self, folder: &Path, apache: &str) -> Result<String> {
        if self.name == "Apache-2.0" {
            // The licence requires passing on a NOTICE file, if there is one.
            let notice = std::fs::read_to_string(folder.join("NOTICE")).unwrap_or_default();
            return Ok(format!("{}{}{}", notice.trim(), if notice.is_empty() { "" } else { "\n\n" }, apache.trim()));
        }
        let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let is_text = |name: &str| {
            let name = name.to_uppercase();
            ["LICENSE", "LICENCE", "COPYING"].iter().any(|start| name.starts_with(start))
        };
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| is_text(&file.file_name().unwrap_or_default().to_string_lossy()));
        files.sort();
        let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
        let own = texts.map(|text| tidy(&text)).find(|text| flat(text).contains(&flat(self.words)));
        match own {
            Some(text) => Ok(text),
            None if self.name == "MIT" => Ok(tidy(MIT).replace("HOLDERS", &holders(folder)?)),
            None => Err(format!("{} has no text of {}.", folder.display(), self.name)),
        }
    }
}

/// Removes differences between texts that are invisible to readers, such as spaces at line ends.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

/// Joins the words of a text, so that searches ignore line ends.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the authors that the manifest of a package names.
fn holders(folder: &Path) -> Result<String> {
    let manifest = cache::read(&folder.join("Cargo.toml"))?;
    let list = manifest.split("\nauthors = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    let names: Vec<&str> =
        list.split('"').skip(1).step_by(2).map(|name| name.split(" <").next().unwrap_or(name)).collect();
    Ok(if names.is_empty() { "the authors of the package".to_owned() } else { names.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(expression: &str) -> Vec<&'static str> {
        Licence::of_expression(expression).unwrap().iter().map(|licence| licence.name).collect()
    }

    #[test]
    fn the_best_licence_is_chosen() {
        assert_eq!(names("MIT OR Apache-2.0"), ["Apache-2.0"]);
        assert_eq!(names("Unlicense/MIT"), ["MIT"]);
        assert_eq!(names("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT"), ["Apache-2.0"]);
        assert_eq!(names("(MIT OR Apache-2.0) AND Unicode-3.0"), ["Apache-2.0", "Unicode-3.0"]);
        assert!(Licence::of_expression("GPL-3.0").is_err() && Licence::of_expression("MIT AND GPL-3.0").is_err());
    }

    /// deny.toml and this module must allow the same licences. deny.toml applies to all dependencies, and this module
    /// applies to the packages in published programs.
    #[test]
    fn the_lists_of_allowed_licences_agree() {
        let deny = cache::read(&cache::repository().join("deny.toml")).unwrap();
        let list = deny.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
        let mut theirs: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
        let mut ours = ALLOWED.map(|licence| licence.name);
        theirs.sort_unstable();
        ours.sort_unstable();
        assert_eq!(theirs, ours);
    }

    #[test]
    fn a_package_without_a_text_has_the_usual_one() {
        let folder = std::env::temp_dir().join(format!("crossprof-notices-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("Cargo.toml"), "[package]\nauthors = [\n    \"A <a@b>\",\n    \"B\",\n]\n").unwrap();
        let [mit] = Licence::of_expression("MIT").unwrap()[..] else { panic!("one licence") };
        let text = mit.text_in(&folder, "").unwrap();
        assert!(text.contains("Copyright (c) A, B\n"), "{text}");
        std::fs::write(folder.join("LICENSE-MIT"), "Mine.\r\n\r\nPermission is hereby\ngranted, free of charge")
            .unwrap();
        assert!(mit.text_in(&folder, "").unwrap().starts_with("Mine.\n"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
