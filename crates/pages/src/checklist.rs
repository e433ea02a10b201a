//! Checklist page: a figure for each rated answer, then every question with its answer, the recommended action, and a
//! link to the evidence. Uses only the profile, so that earlier results have this page too.

use crate::{PageQuery, Source, table_block_of};
use assessments::Assessment;
use document::{Block, Figure, Link};
use report::Level;
use table::query;
use tables::{self, TableName};

pub(super) fn blocks(source: Source<'_>, asked: &PageQuery) -> Vec<Block> {
    let profile = source.profile();
    let all = assessments::all(profile);
    let judged: Vec<Figure> = all.iter().filter(|answer| answer.level.is_some()).map(figure).collect();
    let count = |level: Level| all.iter().filter(|answer| answer.level == Some(level)).count();
    let note = format!(
        "Questions about a profile: {} good, {} noted, {} to look at, {} bad, {} not measured or without a limit.",
        count(Level::Good),
        count(Level::Note),
        count(Level::Warning),
        count(Level::Bad),
        all.len() - judged.len()
    );
    let mut blocks = vec![Block::Heading { text: "Checklist".to_owned(), note: Some(note) }];
    if !judged.is_empty() {
        blocks.push(Block::Figures { figures: judged });
    }
    let rows = tables::of_report(profile, TableName::Checklist).unwrap_or_else(|| tables::empty(TableName::Checklist));
    let mut table =
        table_block_of(TableName::Checklist, "", "Questions and answers", asked, &rows.columns, &mut |asked| {
            query(&rows, asked)
        });
    // Rows may be filtered and sorted, so the question of a row is found by its `id` column.
    let id = table.columns.iter().position(|column| column.key == "id").unwrap_or_default();
    let link_of = |row: &Vec<table::Cell>| match row.get(id) {
        Some(table::Cell::Text(id)) => all.iter().find(|answer| answer.id == id).map(link),
        _ => None,
    };
    table.links = table.rows.iter().map(link_of).collect();
    blocks.push(Block::Table(table));
    blocks
}

fn link(answer: &Assessment) -> Link {
    Link::to(answer.view, &answer.filter)
}

fn figure(answer: &Assessment) -> Figure {
    Figure {
        label: answer.question.to_owned(),
        value: answer.value,
        unit: answer.unit,
        note: answer.answer.clone(),
        level: answer.level,
        limits: answer.limits.clone(),
        link: Some(link(answer)),
        definition: answer.number.to_owned(),
        metric: answer.metric.map(|metric| metric.path.to_owned()),
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_a_row_with_a_link_whatever_the_order() {
        let profile = report::example::profile();
        let mut asked = PageQuery::default();
        asked.sorts.set("checklist", Some(table::Sort::parse("-judgement")));
        for asked in [PageQuery::default(), asked] {
            let blocks = blocks(Source::of_profile(&profile), &asked);
            let Some(Block::Table(table)) = blocks.last() else { panic!("{blocks:?}") };
            assert_eq!((table.rows.len(), table.links.len()), (20, 20));
            for (row, link) in table.rows.iter().zip(&table.links) {
                let view = table.columns.iter().position(|column| column.key == "view").unwrap();
                let table::Cell::Text(view) = &row[view] else { panic!("{row:?}") };
                assert_eq!(link.as_ref().unwrap().view.key(), view);
            }
        }
    }
}
