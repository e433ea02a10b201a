//! `crossprof skill`: writes a file that teaches agents how to judge a change against a baseline.

use std::path::Path;

use super::args::{Skill, SkillAction};
use super::{FAILED, READ, complain, output, print_result};

/// The skill file.
pub(super) const SKILL: &str = include_str!("skill.md");

/// Runs the command and returns the exit status.
pub(super) fn run(command: &Skill) -> u8 {
    match &command.action {
        SkillAction::Show => print_result(SKILL, READ),
        SkillAction::Install { folder } => match install(folder) {
            Ok(text) => print_result(&text, READ),
            Err(message) => {
                complain(&message);
                FAILED
            }
        },
    }
}

fn install(folder: &Path) -> Result<String, String> {
    let folder = folder.join("crossprof");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: cannot be created: {error}", folder.display()))?;
    let file = folder.join("SKILL.md");
    output::write(&file, SKILL)?;
    Ok(format!("{}\n", file.display()))
}
